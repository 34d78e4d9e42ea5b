"""Install, check and show the settings."""
