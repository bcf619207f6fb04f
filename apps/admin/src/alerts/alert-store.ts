import { jsonIn } from '@gateway/contracts/json/json-object';
import { defineScript, readScript } from '@gateway/redis/define-script';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { AlertState, NO_STATE } from './advance.ts';

/** String: which admin service sends alerts; it expires. */
const LEASE = 'gateway:{alerts}:lease';
/** String: what alerts remember, as JSON. */
const STATE = 'gateway:{alerts}:state';

/** As long as a holder may be silent before another one takes over. */
const LEASE_MS = 90_000;

/** What the admin services share of alerts: of several of them one works at a time. All reject where Redis does not answer. */
export interface AlertStore {
  /** Takes the lease, or prolongs it. Resolves to whether this service has it. */
  hold(): Promise<boolean>;
  /** Lets another one take over at once. */
  release(): Promise<void>;
  read(): Promise<AlertState>;
  /** Writes where this service still has the lease. Resolves to whether it has. */
  write(state: AlertState): Promise<boolean>;
}

const Flag = z.int().transform((flag) => flag === 1);

export function createAlertStore(redis: Redis, holder: string): AlertStore {
  const script = (name: string): string => readScript(new URL(name, import.meta.url));
  const hold = defineScript(redis, 'gatewayHoldAlerts', script('hold-lease.lua'), Flag);
  const write = defineScript(redis, 'gatewayWriteAlerts', script('write-state.lua'), Flag);
  const release = defineScript(redis, 'gatewayReleaseAlerts', script('release-lease.lua'), Flag);
  return {
    hold: () => hold([LEASE], holder, LEASE_MS),
    release: async () => {
      await release([LEASE], holder);
    },
    // What cannot be read is of another version: alerts are told again rather than never.
    read: async () => AlertState.safeParse(jsonIn((await redis.get(STATE)) ?? '')).data ?? NO_STATE,
    write: (state) => write([LEASE, STATE], holder, JSON.stringify(state)),
  };
}
