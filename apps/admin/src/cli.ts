import { runCommand } from './cli/run-command.ts';

process.exitCode = await runCommand({
  argv: process.argv.slice(2),
  env: process.env,
  fetch,
  now: Date.now,
  print: console.log,
  printError: console.error,
});
