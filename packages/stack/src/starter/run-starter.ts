import { existsSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { inspect } from 'node:util';
import { ownEnvironment } from '@gateway/contracts/environment';
import { parseRedisUrl, shownPlace } from '@gateway/redis/place/redis-url';
import { releaseMemory } from '@gateway/service-kit/life/release-memory';
import { ConfigurationError } from '@gateway/upstream/configuration/mistakes/configuration-error';
import { createLinePrinter, wantsPretty } from '../printing/line-printer.ts';
import { processModeOf } from '../processes/process-table.ts';
import { sourceOf } from '../secrets.ts';
import { StartError } from '../start-error.ts';
import { type Stack, startStack } from '../start-stack.ts';
import { buildConsole } from './build-console.ts';
import { onStopSignals } from './on-stop-signals.ts';
import { startMessage } from './start-message.ts';

const root = join(import.meta.dirname, '../../../..');

/** Short where it lies in the gateway's folder, in which the person is. */
function shown(path: string): string {
  const fromRoot = relative(root, resolve(root, path));
  return fromRoot.startsWith('..') || isAbsolute(fromRoot) ? path : fromRoot || '.';
}

/** Runs the gateway until a signal ends it. `starter` is the process itself: its environment, its output, its signals. */
export async function runStarter(starter: NodeJS.Process): Promise<void> {
  const { stdout } = starter;
  const envFile = join(root, '.env');
  if (existsSync(envFile)) starter.loadEnvFile(envFile);
  const env = ownEnvironment(starter.env);
  // What this process and its children make is its user's alone.
  starter.umask(0o077);

  const write = (text: string) => void stdout.write(text);
  // A closed terminal takes no output; the processes are stopped in order all the same.
  stdout.on('error', () => undefined);
  const fail = (error: unknown): never => {
    const isExpected = error instanceof StartError || error instanceof ConfigurationError;
    starter.stderr.write(`${isExpected ? error.message : inspect(error)}\n`);
    starter.exit(1);
  };
  const isPretty = (): boolean => {
    try {
      return wantsPretty(env.LOG_FORMAT, stdout.isTTY);
    } catch (error) {
      return fail(error);
    }
  };
  const printer = createLinePrinter({
    pretty: isPretty(),
    color: stdout.isTTY && !env.NO_COLOR,
    write,
    schedule: (callback, delayMs) => void setTimeout(callback, delayMs).unref(),
  });
  starter.on('exit', printer.close);
  const calledOff = new AbortController();
  let stack: Stack | undefined;

  onStopSignals(starter, {
    nowMs: () => performance.now(),
    stop: () => {
      printer.report('Stopping. Send another signal to stop immediately.');
      calledOff.abort();
      void stack?.stop().then(() => starter.exit(0));
    },
    // Processes that are still starting notice that this one has ended.
    end: () => void (stack?.end() ?? Promise.resolve()).then(() => starter.exit(1)),
  });

  const dataDir = env.GATEWAY_DATA_DIR || join(root, '.data');
  try {
    write('Starting the gateway …\n');
    stack = await startStack({
      dataDir,
      env: env,
      workingFolder: root,
      mode: processModeOf(env),
      ports: 'fixed',
      onLines: printer.lines,
      report: printer.report,
      signal: calledOff.signal,
    });
    calledOff.signal.throwIfAborted();
    write(
      startMessage({
        stack,
        redisAddress: shownPlace(parseRedisUrl(stack.redisUrl)),
        configurationPath:
          env.CONFIGURATION_SOURCE === 'database' ? null : shown(env.GATEWAY_CONFIG || 'gateway.yaml'),
        dataDir: shown(dataDir),
        sources: stdout.isTTY
          ? null
          : {
              key: sourceOf('bootstrapKey', resolve(dataDir), env),
              adminToken: sourceOf('adminToken', resolve(dataDir), env),
            },
      }),
    );
    printer.open();
    if (env.CONSOLE_BUILD !== 'false')
      buildConsole({ root, env, signal: calledOff.signal, report: printer.report });
    releaseMemory();
  } catch (error) {
    await stack?.stop();
    if (calledOff.signal.aborted) starter.exit(0);
    fail(error);
  }
}
