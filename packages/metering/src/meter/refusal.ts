import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Account } from '@gateway/contracts/identity';
import type { Charge } from '../ledger/charge.ts';
import type { Reserved } from '../ledger/ledger.ts';
import { rateLimitHeaders } from '../limits/rate-limit-headers.ts';

type Refused = Extract<Reserved, { ok: false }>;

const WORDS = {
  requests: 'requests per minute',
  tokens: 'tokens per minute',
  images: 'images per minute',
  audioMs: 'seconds of audio per minute',
  microUsd: '',
} as const satisfies Record<Charge['dimension'], string>;

const REASONS = {
  requests: 'requests_per_minute',
  tokens: 'tokens_per_minute',
  images: 'images_per_minute',
  audioMs: 'audio_seconds_per_minute',
  microUsd: 'budget',
} as const satisfies Record<Charge['dimension'], string>;

/** Why a request was not let in, as a metric's label. */
export type RefusedFor = (typeof REASONS)[Charge['dimension']] | 'unpriced_model';

export const reasonOf = ({ dimension }: Charge): RefusedFor => REASONS[dimension];

const shown = (charge: Charge, amount: number): number =>
  charge.dimension === 'audioMs' ? Math.ceil(amount / 1000) : amount;

/** The error for a request that does not fit a limit or a budget. `amount` is what the request needs. */
export function refusalOf(
  { charge, waitMs, remaining }: Refused,
  amount: number,
  nowMs: number,
): GatewayError {
  return charge.kind === 'budget'
    ? budgetExhausted(charge)
    : limitReached(charge, { waitMs, remaining, amount, nowMs });
}

/**
 * A model without a price is refused unless the budget allows it, because no budget can be enforced for it.
 *
 * @throws {GatewayError} `unpriced_model`
 */
export function refuseUnpriced(model: string, accounts: readonly Account[], onRefused: () => void): void {
  if (accounts.every(({ budget }) => budget === null || budget.allowUnpriced)) return;
  onRefused();
  throw new GatewayError('unpriced_model', {
    path: ['model'],
    message: `The model '${model}' has no price, so this key, which has a budget, cannot use it. Use another model, or ask the person who gave you the key.`,
  });
}

function budgetExhausted({ owner, period }: Extract<Charge, { kind: 'budget' }>): GatewayError {
  const whose = owner.startsWith('team:') ? "your team's budget" : "this key's budget";
  const when = period === 'total' ? '' : ` for this ${period}`;
  const message = `You exceeded your current quota: ${whose}${when} does not cover this request. Ask the person who gave you the key.`;
  return new GatewayError('budget_exhausted', message);
}

interface Attempted {
  readonly waitMs: number | null;
  readonly remaining: number;
  readonly amount: number;
  readonly nowMs: number;
}

function limitReached(charge: Charge, { waitMs, remaining, amount, nowMs }: Attempted): GatewayError {
  const used = shown(charge, charge.limit - remaining);
  const numbers = `Limit ${shown(charge, charge.limit)}, Used ${used}, Requested ${shown(charge, amount)}.`;
  const code = charge.dimension === 'requests' ? 'rate_limited' : 'rate_limited_tokens';
  const what = limitWords(charge);
  const headers = limitHeaders(charge, remaining, nowMs);
  if (waitMs === null) {
    return new GatewayError(code, {
      message: `Request too large for your limit on ${what}: ${numbers} Waiting does not help; send a smaller request.`,
      retry: false,
      headers,
    });
  }
  const seconds = Math.max(0.001, waitMs / 1000);
  return new GatewayError(code, {
    message: `Rate limit reached on ${what}: ${numbers} Please try again in ${seconds}s.`,
    retryAfterSeconds: seconds,
    headers: { ...headers, 'retry-after-ms': String(waitMs) },
  });
}

/** `tokens per minute`, or `tokens per minute of 'gpt-*'` where the limit is only for some models. */
const limitWords = (charge: Charge): string => {
  const words = WORDS[charge.dimension];
  return charge.kind === 'rate' && charge.model !== null ? `${words} of '${charge.model}'` : words;
};

/** Both protocols' headers; each client reads its own. Neither protocol has any for images or audio. */
function limitHeaders(
  { dimension, limit }: Charge,
  remaining: number,
  nowMs: number,
): Record<string, string> {
  if (dimension !== 'tokens' && dimension !== 'requests') return {};
  const rate = { unit: dimension, limit, remaining } as const;
  return Object.fromEntries([
    ...rateLimitHeaders(rate, 'openai', nowMs),
    ...rateLimitHeaders(rate, 'anthropic', nowMs),
  ]);
}
