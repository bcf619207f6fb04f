import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

const NAME = 'gateway_session';
/** The console's pages need no session; the API does. */
const PATH = '/admin';
const VALUE = /(?:^|;\s*)gateway_session=(ses_[\w-]{22})\.([\w-]{43})(?:;|$)/;

interface CookieOptions {
  /** Whether the browser speaks TLS with whatever is in front of this service. */
  readonly isSecure: boolean;
  readonly maxAgeSeconds: number;
}

export interface SessionCookies {
  /** A `Set-Cookie` header for a session. */
  create(id: string, options: CookieOptions): string;
  /** A `Set-Cookie` header that removes it. */
  clear(options: Pick<CookieOptions, 'isSecure'>): string;
  /** The session's id in a `Cookie` header, if its signature is right. */
  read(header: string | undefined): string | undefined;
}

/**
 * Cookies `ID.SIGNATURE`: ids are listed and logged, and nobody can make a cookie of one without the gateway's secret.
 *
 * @param basePath the path below which browsers see this service
 */
export function createSessionCookies(gatewaySecret: string, basePath = ''): SessionCookies {
  const key = Buffer.from(hkdfSync('sha256', gatewaySecret, '', 'gateway console session v1', 32));
  const signatureOf = (id: string): string => createHmac('sha256', key).update(id).digest('base64url');
  const attributes = ({ isSecure, maxAgeSeconds }: CookieOptions): string =>
    `Path=${basePath}${PATH}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  return {
    create: (id, options) => `${NAME}=${id}.${signatureOf(id)}; ${attributes(options)}`,
    clear: ({ isSecure }) => `${NAME}=; ${attributes({ isSecure, maxAgeSeconds: 0 })}`,
    read: (header) => {
      const [, id = '', signature = ''] = VALUE.exec(header ?? '') ?? [];
      if (id === '') return undefined;
      const isSigned = timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(id)));
      return isSigned ? id : undefined;
    },
  };
}
