import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Target } from '../conversation/target.ts';
import { formatPath } from '../wire/path.ts';

/** A refusal that the caller did not cause and can do nothing about, and the request that would not meet it. */
interface Remedy {
  readonly isFor: (error: GatewayError) => boolean;
  readonly amend: (target: Target) => Target;
}

/** OpenAI's words for content of another organisation, Anthropic's for a signature that is not its own. */
const NOT_ITS_OWN =
  /encrypted content\b.*\bcould not be (?:verified|decrypted)|invalid_encrypted_content|invalid `?signature`? in `?thinking/is;
/** What an organisation is told that OpenAI has not verified. */
const NO_SUMMARY = /verified to generate reasoning summaries/i;

const REMEDIES: readonly Remedy[] = [
  {
    // Sealed by the same vendor, but the channel's credentials have changed since.
    isFor: ({ message }) => NOT_ITS_OWN.test(message),
    amend: (target) => ({ ...target, withholdReasoning: true }),
  },
  {
    isFor: ({ message, options }) =>
      NO_SUMMARY.test(message) || formatPath(options.path ?? []) === 'reasoning.summary',
    amend: (target) => ({ ...target, quirks: { ...target.quirks, reasoningSummary: false } }),
  },
];

/** Remembers what an upstream refused of one request, each thing once. */
export class Remedies {
  readonly #applied = new Set<Remedy>();

  /** Whether another try, with `apply`, may meet with more success. */
  learn(error: unknown): boolean {
    if (!isRefusal(error)) return false;
    const remedy = REMEDIES.find((known) => known.isFor(error) && !this.#applied.has(known));
    if (remedy === undefined) return false;
    this.#applied.add(remedy);
    return true;
  }

  apply(target: Target): Target {
    return [...this.#applied].reduce((amended, { amend }) => amend(amended), target);
  }
}

const isRefusal = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.code === 'upstream_rejected';
