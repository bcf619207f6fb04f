import { connect as connectTcp, isIP, type NetConnectOpts, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector } from 'ioredis';
import { z } from 'zod';
import type { RedisSecrets } from '../place/redis-secrets.ts';
import { type RedisAddress, type RedisPlace, shownAddress } from '../place/redis-url.ts';
import { findMasters } from './find-masters.ts';

type Report = (event: string, error: Error) => void;

/** What `INFO` says of a server; absent where its user may not ask. */
const ServerInfo = z.object({ role: z.string().optional(), redis_mode: z.string().optional() });

/** How long an ended connection may take to close. */
const CLOSE_MS = 2000;

/**
 * How a client of ioredis gets its connection: always to a master, by the files and the answers of sentinels of that moment.
 * All that fails is a lost connection, which the client's `retryStrategy` decides about.
 */
export const masterConnector = (place: RedisPlace, secrets: RedisSecrets) =>
  class MasterConnector extends AbstractConnector {
    /** Addresses that could not be used, which are tried again after the others. */
    readonly #refused = new Set<string>();
    #address: RedisAddress | undefined;
    #report: Report = () => undefined;

    constructor() {
      super(CLOSE_MS);
    }

    override async connect(report: Report): Promise<Socket> {
      this.connecting = true;
      this.#report = report;
      let stream: Socket;
      try {
        stream = await this.#open();
      } catch (error) {
        stream = new Socket();
        this.firstError = error instanceof Error ? error : new Error(String(error));
        stream.destroy();
      }
      if (!this.connecting) {
        stream.destroy();
        throw new Error('Connection is closed.');
      }
      this.stream = stream;
      return stream;
    }

    async #open(): Promise<Socket> {
      const masters = await findMasters(place, secrets);
      const address = masters.find((one) => !this.#refused.has(shownAddress(one))) ?? masters[0];
      if (address === undefined) throw new Error('no address of a Redis is known');
      this.#address = address;
      // Until it has been found to be a master.
      this.#refused.add(shownAddress(address));
      const { host, port } = address;
      const options: NetConnectOpts = { host, port, family: place.family };
      const tls = secrets.tls();
      const stream = tls
        ? connectTls({ ...options, ...(isIP(host) === 0 && { servername: host }), ...tls })
        : connectTcp(options);
      stream.once('error', (error) => {
        this.firstError = error;
      });
      return stream;
    }

    /** Called with what the server says of itself; false closes the connection. */
    override check(info: unknown): boolean {
      const { role, redis_mode: mode } = ServerInfo.catch({}).parse(info);
      const reason = unusable(role, mode, place);
      if (reason === undefined) {
        this.#refused.clear();
        return true;
      }
      const shown = this.#address === undefined ? 'it' : shownAddress(this.#address);
      this.#report('error', new Error(`${shown} ${reason}`));
      return false;
    }
  };

/** Why a server cannot be used. */
function unusable(role: string | undefined, mode: string | undefined, place: RedisPlace): string | undefined {
  if (mode === 'sentinel') return 'is a sentinel: write redis+sentinel:// in REDIS_URL';
  if (mode === 'cluster') return 'is a node of a Redis Cluster, which is not supported';
  if (role !== 'slave') return undefined;
  if (place.masterName !== null) return 'is not the master yet, or not any more';
  return 'is a replica, whose writes are lost: name its master in REDIS_URL, or its sentinels';
}
