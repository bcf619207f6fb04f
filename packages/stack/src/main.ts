/** `npm start`: the whole gateway on this machine, in the foreground. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigurationError } from '@gateway/upstream/configuration/configuration-error';
import { placeOf } from './check-redis.ts';
import { createLinePrinter, wantsPretty } from './line-printer.ts';
import { onStopSignals } from './on-stop-signals.ts';
import { processModeOf } from './process-mode.ts';
import { StartError } from './start-error.ts';
import { startMessage } from './start-message.ts';
import { type Stack, startStack } from './start-stack.ts';

const root = join(import.meta.dirname, '../../..');
const envFile = join(root, '.env');
if (existsSync(envFile)) process.loadEnvFile(envFile);

const write = (text: string) => void process.stdout.write(text);
// A terminal that is closed takes nothing any more; what runs is stopped in order all the same.
process.stdout.on('error', () => undefined);
const fail = (error: unknown): never => {
  const isExpected = error instanceof StartError || error instanceof ConfigurationError;
  console.error(isExpected ? error.message : error);
  process.exit(1);
};
const isPretty = (): boolean => {
  try {
    return wantsPretty(process.env.LOG_FORMAT, process.stdout.isTTY);
  } catch (error) {
    return fail(error);
  }
};
const printer = createLinePrinter({
  pretty: isPretty(),
  color: process.stdout.isTTY && !process.env.NO_COLOR,
  write,
  schedule: (callback, delayMs) => void setTimeout(callback, delayMs).unref(),
});
process.on('exit', printer.close);
const calledOff = new AbortController();
let stack: Stack | undefined;

onStopSignals(process, {
  nowMs: () => performance.now(),
  stop: () => {
    printer.report('Stopping. Another signal ends everything at once.');
    calledOff.abort();
    void stack?.stop().then(() => process.exit(0));
  },
  // What is still starting notices that we are gone.
  end: () => void (stack?.end() ?? Promise.resolve()).then(() => process.exit(1)),
});

const dataDir = process.env.GATEWAY_DATA_DIR || join(root, '.data');
try {
  write('Starting the gateway …\n');
  stack = await startStack({
    dataDir,
    env: process.env,
    workingFolder: root,
    mode: processModeOf(process.env),
    ports: 'fixed',
    onLine: printer.line,
    report: printer.report,
    signal: calledOff.signal,
  });
  calledOff.signal.throwIfAborted();
  write(
    startMessage({
      stack,
      redisPlace: placeOf(stack.redisUrl),
      configurationPath: process.env.GATEWAY_CONFIG || join(root, 'gateway.yaml'),
      dataDir: resolve(dataDir),
      examples: join(root, 'examples'),
    }),
  );
  printer.open();
} catch (error) {
  await stack?.stop();
  if (calledOff.signal.aborted) process.exit(0);
  fail(error);
}
