"""Loop devices with exact limits, made and removed by the tests."""
