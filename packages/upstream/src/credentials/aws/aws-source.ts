import type { AuthSettings } from '../../configuration/auth-entry.ts';
import type { Network } from '../../connecting/network.ts';
import type { Authorization, CredentialSource, FinalRequest, Refusal } from '../credential-source.ts';
import { RenewedValue } from '../renewed-value.ts';
import { awsErrorCode } from './aws-error-code.ts';
import { type AwsSigner, fetchAwsSigner } from './aws-signer.ts';

type AwsSettings = Extract<AuthSettings, { type: 'aws' }>;

interface AwsSourceOptions {
  /** The way to STS. */
  readonly network: Network;
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

/** What requests were signed by, with the clock that they were signed with. */
class Signing {
  readonly signer: AwsSigner;
  readonly offsetMs: number;

  constructor(signer: AwsSigner, offsetMs: number) {
    this.signer = signer;
    this.offsetMs = offsetMs;
  }
}

/** Keys that sign every request (Signature Version 4). */
export class AwsSource implements CredentialSource {
  readonly #signer: RenewedValue<AwsSigner>;
  readonly #now: () => number;
  /** What the present requests are signed by; null: none was signed yet. */
  #signing: Signing | null = null;
  /** From this machine's clock to AWS', as far as AWS has refused a date. */
  #offsetMs = 0;

  constructor(settings: AwsSettings, options: AwsSourceOptions) {
    const { network } = options;
    this.#now = options.now;
    this.#signer = new RenewedValue({
      ...options,
      fetch: (signal) => fetchAwsSigner(settings, { network, signal }),
    });
  }

  get expiresAtMs(): number | null {
    return this.#signer.expiresAtMs;
  }

  authorize(request: FinalRequest): Authorization | Promise<Authorization> {
    const signer = this.#signer.get();
    return signer instanceof Promise
      ? signer.then((one) => this.#signedBy(one, request))
      : this.#signedBy(signer, request);
  }

  #signedBy(signer: AwsSigner, request: FinalRequest): Authorization {
    const offsetMs = this.#offsetMs;
    if (this.#signing?.signer !== signer || this.#signing.offsetMs !== offsetMs)
      this.#signing = new Signing(signer, offsetMs);
    return { headers: signer.sign(request, this.#now() + offsetMs), by: this.#signing };
  }

  mayHaveExpired(status: number): boolean {
    return status === 401 || status === 403;
  }

  async renew({ headers, body }: Refusal, { by }: Authorization): Promise<boolean> {
    if (!(by instanceof Signing)) return false;
    const code = awsErrorCode(headers, body) ?? '';
    if (DATE_CODES.has(code)) return this.#correctClock(headers.date, by.offsetMs);
    return KEY_CODES.has(code) && this.#signer.replace(by.signer);
  }

  async warm(): Promise<void> {
    await Promise.resolve(this.#signer.get()).catch(() => undefined);
  }

  /** Whether the request was signed by a wrong clock, which another one may have corrected since. */
  #correctClock(date: string | undefined, usedMs: number): boolean {
    const offsetMs = Date.parse(date ?? '') - this.#now();
    if (!(Math.abs(offsetMs - usedMs) > MAX_SKEW_MS)) return false;
    this.#offsetMs = offsetMs;
    return true;
  }
}
