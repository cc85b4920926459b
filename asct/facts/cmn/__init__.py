"""The structure and configuration of Arm's coherent meshes (CMN-600, CMN-650, CMN-700, CI-700, CMN S3)."""
