import { existsSync } from 'node:fs';
import { ownEnvironment } from '@gateway/contracts/environment';
import { runCommand } from './cli/run-command.ts';
import { openTerminal } from './setup/terminal.ts';

// `npm run gateway` works in the root of the repository, whose .env `npm start` and `docker compose` read too.
if (existsSync('.env')) process.loadEnvFile('.env');

process.exitCode = await runCommand({
  argv: process.argv.slice(2),
  env: ownEnvironment(process.env),
  fetch,
  now: Date.now,
  userName: process.env.USER || 'cli',
  print: console.log,
  write: (text) => new Promise((resolve) => process.stdout.write(text, () => resolve())),
  printError: console.error,
  terminal:
    process.stdin.isTTY && process.stdout.isTTY
      ? openTerminal({ input: process.stdin, output: process.stdout })
      : undefined,
});
