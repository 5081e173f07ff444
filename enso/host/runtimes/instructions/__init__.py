"""What people write down for the agent: context files, prompt templates, skills, slash commands."""
