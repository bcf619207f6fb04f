import type { RequestListener, Server, ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '@gateway/contracts/config-error';
import type { Logger } from '../logger.ts';
import { http } from '../node-http.ts';
import { createReadiness, type Readiness } from './readiness.ts';
import { releaseMemory } from './release-memory.ts';
import { type Serving, serveBy } from './serving.ts';

/**
 * How long an idle connection is kept: longer than any of our clients keeps one. If the server closed first, a request
 * could arrive on a connection that is being closed.
 */
const KEEP_ALIVE_MS = 75_000;

/** The edge takes 32 KB of headers from callers and adds its own; Node would take 16 KB. */
const MAX_HEADER_BYTES = 48 * 1024;

/** Node's flag for a lenient parser would let two of our processes read one request in two ways. */
const insecureHTTPParser = false;

/**
 * The edge bounds how long a request may take to arrive: with Node's own five minutes a service would break off
 * uploads that the edge still accepts. Node gives headers a minute everywhere.
 */
const requestTimeout = 0;

const SERVER_DEFAULTS = {
  keepAliveTimeout: KEEP_ALIVE_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
  insecureHTTPParser,
  requestTimeout,
};

export interface Life {
  readonly logger: Logger;
  readonly readiness: Readiness;
  /** Aborted when the process begins to stop: no new work is taken on connections that stay open. */
  readonly stopping: AbortSignal;
  /** Aborted when the drain deadline has passed: whatever still runs ends now, with its protocol's error. */
  readonly deadline: AbortSignal;
  /** Registers a resource's close beside its opening. The last opened is closed first. */
  own<T>(resource: T, close: (resource: T) => unknown): T;
  /** Serves until the process gets a signal to stop, then lets running requests finish. Resolves to the port. */
  listen(listener: RequestListener, address: ListenAddress): Promise<number>;
}

export interface ListenAddress {
  readonly port: number;
  readonly host: string;
  /** The setting to name when the port is taken. */
  readonly portSetting: string;
  readonly options?: ServerOptions;
  /** Configures the server itself, such as its `clientError` handler. */
  readonly configure?: (server: Server) => void;
}

export interface RunOptions {
  readonly logger: Logger;
  readonly drainTimeoutMs: number;
  /** How long the process serves on as before after it has turned unready, so that balancers learn it. */
  readonly drainDelayMs: number;
  /** The process itself; an argument so that a test can send the signals. */
  readonly process: NodeJS.Process;
}

/**
 * A process's life: builds everything, reports that it is ready, waits for SIGTERM, SIGINT or the loss of its parent,
 * turns unready, waits until edges and balancers have taken it out, drains within the deadline, closes what it owns in
 * reverse order and exits. A second signal ends it at once.
 */
export async function runService(options: RunOptions, build: (life: Life) => Promise<void>): Promise<void> {
  const { logger, process } = options;
  const resources = new AsyncDisposableStack();
  const servings: Serving[] = [];
  const stopped = new AbortController();
  const deadline = new AbortController();
  const readiness = createReadiness();
  let port: number | undefined;

  const life: Life = {
    logger,
    readiness,
    stopping: stopped.signal,
    deadline: deadline.signal,
    own: (resource, close) =>
      resources.adopt(resource, async (owned) => {
        await close(owned);
      }),
    listen: async (listener, address) => {
      const server = http.createServer({ ...SERVER_DEFAULTS, ...address.options }, listener);
      // Node's own answer would leave the rest of the body to be read without a bound.
      server.on('checkExpectation', listener);
      address.configure?.(server);
      servings.push(serveBy(server));
      const bound = await bind(server, address);
      port ??= bound;
      return bound;
    },
  };

  const end = (code: number) => endProcess(process, logger, code);
  const stopping = nextStop(process, () => end(1));
  try {
    await build(life);
  } catch (error) {
    if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
    else logger.fatal({ err: error }, 'cannot start');
    await closeAll(resources, logger);
    return end(1);
  }
  readiness.open();
  logger.info({ port }, 'ready');
  process.send?.({ type: 'ready', port });
  releaseMemory();

  const reason = await stopping;
  logger.info({ reason }, 'stopping');
  for (const serving of servings) serving.endKeepAlive();
  const [wasWatched] = await Promise.all([readiness.close(), delay(options.drainDelayMs)]);
  if (wasWatched) await delay(IN_TRANSIT_MS);
  stopped.abort(new Error(reason));
  const timer = setTimeout(() => deadline.abort(new Error('drain deadline passed')), options.drainTimeoutMs);
  await Promise.all(servings.map((serving) => serving.drain(deadline.signal, options.drainDelayMs)));
  clearTimeout(timer);
  logger.info('stopped');
  await closeAll(resources, logger);
  await end(0);
}

async function closeAll(resources: AsyncDisposableStack, logger: Logger): Promise<void> {
  await resources.disposeAsync().catch((error: unknown) => logger.error({ err: error }, 'close failed'));
}

/** How long the last log lines may take to leave: their reader may be stuck. */
const FLUSH_GRACE_MS = 1000;

/**
 * Ends the process when its last log lines have left, or cannot.
 *
 * The logger would flush once more from its `exit` listener, and sonic-boom repeats for ever, with a pause in between, a write
 * that fails because its reader is gone (seen in 4.2 with EPIPE: a process whose starter was killed never ended).
 */
async function endProcess(process: NodeJS.Process, logger: Logger, code: number): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, FLUSH_GRACE_MS);
    logger.flush(() => resolve());
  });
  process.removeAllListeners('exit');
  process.exit(code);
}

/** What an edge sent just before it took this process out arrives within this time. */
const IN_TRANSIT_MS = 50;

async function bind(server: Server, { port, host, portSetting }: ListenAddress): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new ConfigError(
              `Port ${port} on ${host} is taken. Stop what uses it, or set ${portSetting} to another port.`,
            )
          : error,
      ),
    );
    server.listen(port, host, resolve);
  });
  const address: AddressInfo | string | null = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function nextStop(process: NodeJS.Process, onSecond: () => void): Promise<string> {
  return new Promise((resolve) => {
    let stopping = false;
    const stop = (reason: string) => {
      if (stopping) onSecond();
      stopping = true;
      resolve(reason);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
    process.once('disconnect', () => {
      if (!stopping) stop('parent gone');
    });
  });
}
