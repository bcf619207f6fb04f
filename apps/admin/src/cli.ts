import { runCommand } from './cli/run-command.ts';

process.exitCode = await runCommand({
  argv: process.argv.slice(2),
  env: process.env,
  fetch,
  now: Date.now,
  userName: process.env.USER || 'cli',
  print: console.log,
  write: (text) => new Promise((resolve) => process.stdout.write(text, () => resolve())),
  printError: console.error,
});
