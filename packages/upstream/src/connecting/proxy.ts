/** A proxy's address with its credentials. Safe to log: the credentials are in a private field. */
export class ForwardProxy {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly #authorization: string | null;

  constructor(url: URL) {
    this.origin = url.origin;
    const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    const isOpen = user === '' && password === '';
    this.#authorization = isOpen ? null : `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }

  /** The value of `proxy-authorization`; null: it needs none. */
  get authorization(): string | null {
    return this.#authorization;
  }
}

export const PROXY_EXPECTED =
  'a proxy as http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ where it needs that';

/** Reads a proxy's address. Without a scheme it is one over http. Undefined for anything else, such as a SOCKS proxy. */
export function readProxy(text: string): ForwardProxy | undefined {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined;
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return undefined;
  try {
    return new ForwardProxy(url);
  } catch {
    return undefined; // An incomplete %-escape in the user or the password.
  }
}

/** A connection that could not be made by a proxy. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly code: 'PROXY_REFUSED' | 'PROXY_TIMEOUT' | 'PROXY_UNREACHABLE';

  constructor(code: ProxyError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
