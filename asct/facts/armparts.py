"""Names of Arm cores by implementer and part number (MIDR_EL1), as the architects' reference manuals list them."""

from __future__ import annotations

IMPLEMENTERS: dict[int, str] = {
    0x41: "ARM", 0x42: "Broadcom", 0x43: "Cavium", 0x46: "FUJITSU", 0x48: "HiSilicon", 0x4E: "NVIDIA", 0x50: "APM",
    0x51: "Qualcomm", 0x53: "Samsung", 0x56: "Marvell", 0x61: "Apple", 0x69: "Intel", 0x6D: "Microsoft",
    0x70: "Phytium", 0xC0: "Ampere",
}  # fmt: skip

_ARM: dict[int, str] = {
    0xC07: "Cortex-A7", 0xC08: "Cortex-A8", 0xC09: "Cortex-A9", 0xC0F: "Cortex-A15", 0xD02: "Cortex-A34",
    0xD03: "Cortex-A53", 0xD04: "Cortex-A35", 0xD05: "Cortex-A55", 0xD06: "Cortex-A65", 0xD07: "Cortex-A57",
    0xD08: "Cortex-A72", 0xD09: "Cortex-A73", 0xD0A: "Cortex-A75", 0xD0B: "Cortex-A76", 0xD0C: "Neoverse-N1",
    0xD0D: "Cortex-A77", 0xD0E: "Cortex-A76AE", 0xD40: "Neoverse-V1", 0xD41: "Cortex-A78", 0xD42: "Cortex-A78AE",
    0xD43: "Cortex-A65AE", 0xD44: "Cortex-X1", 0xD46: "Cortex-A510", 0xD47: "Cortex-A710", 0xD48: "Cortex-X2",
    0xD49: "Neoverse-N2", 0xD4A: "Neoverse-E1", 0xD4B: "Cortex-A78C", 0xD4C: "Cortex-X1C", 0xD4D: "Cortex-A715",
    0xD4E: "Cortex-X3", 0xD4F: "Neoverse-V2", 0xD80: "Cortex-A520", 0xD81: "Cortex-A720", 0xD82: "Cortex-X4",
    0xD83: "Neoverse-V3AE", 0xD84: "Neoverse-V3", 0xD85: "Cortex-X925", 0xD87: "Cortex-A725", 0xD8E: "Neoverse-N3",
}  # fmt: skip

PARTS: dict[tuple[int, int], str] = {
    **{(0x41, part): name for part, name in _ARM.items()},
    (0x43, 0x0A1): "ThunderX-88XX",
    (0x43, 0x0AF): "ThunderX2-99xx",
    (0x46, 0x001): "A64FX",
    (0x48, 0xD01): "TaiShan-v110",
    (0x4E, 0x004): "Carmel",
    (0x50, 0x000): "X-Gene",
    (0x51, 0xC00): "Falkor",
    (0xC0, 0xAC3): "Ampere-1",
    (0xC0, 0xAC4): "Ampere-1a",
}
