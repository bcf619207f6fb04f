import type { ServerResponse } from 'node:http';
import type { Identity } from '@gateway/contracts/identity';
import { type AccountBalance, readBalances } from '@gateway/metering/limits/balance';
import type { Redis } from 'ioredis';
import type { EdgeContext } from './edge-context.ts';

/** `GET /v1/key`: a caller's own key, and what is left of its and its team's limits and budget. */
export interface OwnKey {
  /** @throws {GatewayError} `service_unavailable` when Redis is away */
  answer(response: ServerResponse, context: EdgeContext): Promise<void>;
}

interface OwnKeyOptions {
  readonly redis: Redis;
  readonly now: () => number;
  /** The time zone of budget periods. */
  readonly timeZone: string;
}

export function createOwnKey({ redis, now, timeZone }: OwnKeyOptions): OwnKey {
  return {
    answer: async (response, { identity, requestId }) => {
      if (identity === null) throw new Error('a public path has no key');
      const balances = await readBalances(redis, identity.accounts, { timeZone, nowMs: now() });
      const body = JSON.stringify(ownKey(identity, balances));
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'cache-control': 'no-store',
        'x-request-id': requestId,
        'request-id': requestId,
      });
      response.end(body);
    },
  };
}

const MICRO_PER_USD = 1e6;

/** Snake case and Unix seconds, like everything below `/v1`. */
const ownKey = (
  { keyId, keyName, team, models, endpoints }: Identity,
  balances: readonly AccountBalance[],
) => ({
  object: 'key',
  id: keyId,
  name: keyName,
  team,
  models,
  endpoints,
  limits: balances.flatMap(({ owner, limits }) =>
    limits.map(({ limit, model, value, remaining }) => ({
      of: owner === keyId ? 'key' : 'team',
      limit: snakeCase(limit),
      model,
      value,
      remaining,
    })),
  ),
  budgets: balances.flatMap(({ owner, budget }) =>
    budget === null
      ? []
      : [
          {
            of: owner === keyId ? 'key' : 'team',
            period: budget.period,
            usd: budget.microUsd / MICRO_PER_USD,
            spent_usd: budget.spentMicroUsd / MICRO_PER_USD,
            reserved_usd: budget.reservedMicroUsd / MICRO_PER_USD,
            remaining_usd: budget.remainingMicroUsd / MICRO_PER_USD,
            resets_at: budget.resetsAtMs === null ? null : Math.ceil(budget.resetsAtMs / 1000),
          },
        ],
  ),
});

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
