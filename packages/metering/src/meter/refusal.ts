import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Account } from '@gateway/contracts/identity';
import type { Charge } from '../ledger/charge.ts';
import type { Reserved } from '../ledger/ledger.ts';

type Refused = Extract<Reserved, { ok: false }>;

const WORDS = {
  requests: 'requests per minute',
  tokens: 'tokens per minute',
  images: 'images per minute',
  audioMs: 'seconds of audio per minute',
  microUsd: '',
} as const satisfies Record<Charge['dimension'], string>;

const shown = (charge: Charge, amount: number): number =>
  charge.dimension === 'audioMs' ? Math.ceil(amount / 1000) : amount;

/** What a caller is told whose request does not fit a limit or a budget. `amount` is what the request asked for. */
export function refusalOf({ charge, waitMs, remaining }: Refused, amount: number): GatewayError {
  return charge.kind === 'budget' ? budgetExhausted(charge) : limitReached(charge, waitMs, remaining, amount);
}

/**
 * A budget cannot be kept for what has no price, so that such a model is refused unless the budget allows it.
 *
 * @throws {GatewayError} `unpriced_model`
 */
export function refuseUnpriced(model: string, accounts: readonly Account[]): void {
  if (accounts.every(({ budget }) => budget === null || budget.allowUnpriced)) return;
  throw new GatewayError('unpriced_model', {
    path: ['model'],
    message: `The model '${model}' has no price, and this key has a budget that must be kept. Use another model, or ask whoever gave you the key.`,
  });
}

function budgetExhausted({ owner, period }: Extract<Charge, { kind: 'budget' }>): GatewayError {
  const whose = owner.startsWith('team:') ? "your team's budget" : "this key's budget";
  const when = period === 'total' ? '' : ` for this ${period}`;
  const message = `You exceeded your current quota: ${whose}${when} does not cover this request. Ask whoever gave you the key.`;
  return new GatewayError('budget_exhausted', message);
}

function limitReached(
  charge: Charge,
  waitMs: number | null,
  remaining: number,
  amount: number,
): GatewayError {
  const used = shown(charge, charge.limit - remaining);
  const numbers = `Limit ${shown(charge, charge.limit)}, Used ${used}, Requested ${shown(charge, amount)}.`;
  const what = WORDS[charge.dimension];
  if (waitMs === null) {
    return new GatewayError('rate_limited_tokens', {
      message: `Request too large for your limit on ${what}: ${numbers} Waiting does not help; send a smaller request.`,
      retry: false,
    });
  }
  const seconds = Math.max(0.001, waitMs / 1000);
  return new GatewayError('rate_limited_tokens', {
    message: `Rate limit reached on ${what}: ${numbers} Please try again in ${seconds}s.`,
    retryAfterSeconds: seconds,
  });
}
