"""Standard output is data: tables for people, JSON or names for programs."""
