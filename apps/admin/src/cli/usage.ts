/** A command line that cannot be understood. Shown with a hint at `--help`; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const USAGE = `Usage: npm run gateway -- keys COMMAND [OPTIONS]

  keys create            make a key; it is shown once
      --name NAME        what it is for (default: cli)
      --team TEAM
      --models LIST      model patterns it may use, such as gpt-*,claude-* (default: all)
      --endpoints LIST   responses, messages, chat, images, speech, transcriptions (default: all)
      --expires-at TIME  ISO 8601, such as 2027-01-31T00:00:00Z (default: never)
      --label NAME=VALUE may be repeated
  keys list              all keys, the newest first
  keys revoke ID         revoke a key for good; it is refused everywhere within a second

  --json                 print JSON instead of text
  --help                 print this

The admin service is looked for at ADMIN_URL (default: http://127.0.0.1:8090). Its token comes from GATEWAY_ADMIN_TOKEN,
or from the data folder of \`npm start\` (GATEWAY_DATA_DIR, default: .data).`;
