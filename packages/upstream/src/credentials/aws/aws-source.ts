import type { AuthSettings } from '../../configuration/auth-entry.ts';
import type { Authorization, CredentialSource, FinalRequest, Refusal } from '../credential-source.ts';
import { RenewedValue } from '../renewed-value.ts';
import { awsErrorCode } from './aws-error-code.ts';
import { type AwsSigner, fetchAwsSigner } from './aws-signer.ts';

type AwsSettings = Extract<AuthSettings, { type: 'aws' }>;

interface AwsSourceOptions {
  readonly now: () => number;
  readonly fetchMs: number;
  readonly onFetched: (failure: Error | null) => void;
}

/** What is refused for its keys, which may have been exchanged. */
const KEY_CODES: ReadonlySet<string> = new Set([
  'ExpiredToken',
  'ExpiredTokenException',
  'UnrecognizedClientException',
  'InvalidClientTokenId',
]);
/** What is refused for its date, or may be. */
const DATE_CODES: ReadonlySet<string> = new Set([
  'InvalidSignatureException',
  'SignatureDoesNotMatch',
  'RequestExpired',
  'RequestTimeTooSkewed',
]);
/** AWS takes a date that is wrong by up to five minutes. */
const MAX_SKEW_MS = 4 * 60_000;

/** Keys that sign every request (Signature Version 4). */
export class AwsSource implements CredentialSource {
  readonly #signer: RenewedValue<AwsSigner>;
  readonly #now: () => number;
  /** From this machine's clock to AWS', as far as AWS has refused a date. */
  #offsetMs = 0;

  constructor(settings: AwsSettings, options: AwsSourceOptions) {
    this.#now = options.now;
    this.#signer = new RenewedValue({ ...options, fetch: () => fetchAwsSigner(settings) });
  }

  get expiresAtMs(): number | null {
    return this.#signer.expiresAtMs;
  }

  async authorize(request: FinalRequest): Promise<Authorization> {
    const signer = await this.#signer.get();
    const date = new Date(this.#now() + this.#offsetMs);
    return { headers: await signer.sign(request, date), by: signer };
  }

  mayHaveExpired(status: number): boolean {
    return status === 401 || status === 403;
  }

  async renew({ headers, body }: Refusal, { by }: Authorization): Promise<boolean> {
    const code = awsErrorCode(headers, body) ?? '';
    if (DATE_CODES.has(code)) return this.#correctClock(headers.date);
    return KEY_CODES.has(code) && this.#signer.replace(by);
  }

  async warm(): Promise<void> {
    await Promise.resolve(this.#signer.get()).catch(() => undefined);
  }

  #correctClock(date: string | undefined): boolean {
    const offsetMs = Date.parse(date ?? '') - this.#now();
    if (!(Math.abs(offsetMs - this.#offsetMs) > MAX_SKEW_MS)) return false;
    this.#offsetMs = offsetMs;
    return true;
  }
}
