"""Loop devices with exact limits, created and removed by the tests."""
