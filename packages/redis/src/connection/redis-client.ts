import { type Callback, Redis, type RedisOptions } from 'ioredis';
import { z } from 'zod';
import type { RedisSecrets } from '../place/redis-secrets.ts';
import type { RedisPlace } from '../place/redis-url.ts';
import { masterConnector } from './master-connector.ts';

/** How often a connection is tried. One without an answer for its `socketTimeout` is closed and opened again. */
const BEAT_MS = 2500;

/** Emitted by a client that is connected to another server than before, or to the same after a restart: it may have been set back. */
export const REPLACED = 'replaced';

/**
 * A connection to a Redis, or to the master that sentinels name. It shows the password that is in its file when it connects, and
 * leaves a server that does not answer, or is a master no more, also while nobody sends anything.
 */
export class RedisClient extends Redis {
  readonly #place: RedisPlace;
  readonly #secrets: RedisSecrets;
  #beat: NodeJS.Timeout | undefined;
  /** The server's own name for this run of it. */
  #run: string | undefined;

  /** Not connected yet. */
  constructor(place: RedisPlace, secrets: RedisSecrets, options: RedisOptions) {
    super({
      ...options,
      replyMapping: 'legacy',
      db: place.db,
      lazyConnect: true,
      Connector: masterConnector(place, secrets),
      reconnectOnError: afterDemotion,
      ...(place.login.username !== undefined && { username: place.login.username }),
      // Where there is anything at all, ioredis waits for the handshake of TLS.
      ...(place.tls !== null && { tls: {} }),
    });
    this.#place = place;
    this.#secrets = secrets;
    this.on('ready', () => {
      clearInterval(this.#beat);
      if (options.socketTimeout === undefined) return;
      void this.#meet();
      this.#beat = setInterval(() => void this.#look(), BEAT_MS).unref();
    });
    this.on('close', () => clearInterval(this.#beat));
  }

  override connect(callback?: Callback<void>): Promise<void> {
    const password = this.#secrets.password();
    if (password !== undefined) this.options.password = password;
    return super.connect(callback);
  }

  /**
   * After a lost connection ioredis subscribes again by itself, and nobody catches what becomes of that: a connection that is lost or
   * closed in between would end the process.
   */
  override sendCommand(...sent: Parameters<Redis['sendCommand']>): unknown {
    const [command] = sent;
    if (command.name === 'subscribe') command.promise.catch(() => undefined);
    return super.sendCommand(...sent);
  }

  override duplicate(override?: Partial<RedisOptions>): Redis {
    return new RedisClient(this.#place, this.#secrets, { ...this.options, ...override });
  }

  /** Finds out who the server is. */
  async #meet(): Promise<void> {
    const run = /^run_id:(\w+)/m.exec(await this.info('server').catch(() => ''))?.[1];
    const former = this.#run;
    if (run === undefined || run === former) return;
    this.#run = run;
    if (former !== undefined) this.emit(REPLACED);
  }

  /** Any answer shows that the server is there. */
  async #look(): Promise<void> {
    try {
      if (this.mode === 'subscriber') await this.ping();
      else if (/^role:slave/m.test(await this.info('replication'))) this.disconnect(true);
    } catch {
      // The connection is closed where it was lost, and the server answers where its user may not ask.
    }
  }
}

/**
 * A master that became a replica refuses writes: the next connection leads to the new one. A script has then written nothing, and
 * is sent again there; what fails otherwise may be a part of a transaction.
 */
function afterDemotion(error: Error): 1 | 2 | false {
  if (!error.message.startsWith('READONLY')) return false;
  const { command } = Refused.parse(error);
  return /^eval/i.test(command?.name ?? '') ? 2 : 1;
}

/** An error reply, with its command. */
const Refused = z.looseObject({ command: z.object({ name: z.string() }).optional() }).catch({});
