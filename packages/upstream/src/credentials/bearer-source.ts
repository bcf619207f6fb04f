import type { Authorization, CredentialSource, Refusal } from './credential-source.ts';
import type { RenewedValue } from './renewed-value.ts';

/** Tokens in the `authorization` header. */
export class BearerSource implements CredentialSource {
  readonly #token: RenewedValue<string>;
  readonly #headers: readonly string[];
  /** Made once for each token. */
  #authorization: Authorization | null = null;

  constructor(token: RenewedValue<string>, headers: readonly string[] = []) {
    this.#token = token;
    this.#headers = headers;
  }

  get expiresAtMs(): number | null {
    return this.#token.expiresAtMs;
  }

  authorize(): Authorization | Promise<Authorization> {
    const token = this.#token.get();
    return typeof token === 'string' ? this.#with(token) : token.then((one) => this.#with(one));
  }

  mayHaveExpired(status: number): boolean {
    return status === 401;
  }

  renew(_: Refusal, { by }: Authorization): Promise<boolean> {
    return this.#token.replace(by);
  }

  async warm(): Promise<void> {
    await Promise.resolve(this.#token.get()).catch(() => undefined);
  }

  #with(token: string): Authorization {
    if (this.#authorization?.by !== token)
      this.#authorization = { headers: ['authorization', `Bearer ${token}`, ...this.#headers], by: token };
    return this.#authorization;
  }
}
