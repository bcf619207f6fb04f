import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/** What a browser keeps between the way to the identity provider and the way back. */
const Flow = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  /** Of PKCE: without it the code is worth nothing. */
  verifier: z.string(),
  /** The page of the console to open afterwards, below `/console`. */
  to: z.string(),
  /** Unix milliseconds. */
  expiresAtMs: z.number(),
});
export type Flow = z.infer<typeof Flow>;

export interface FlowCookies {
  /** A `Set-Cookie` header for a flow that begins. */
  create(flow: Omit<Flow, 'expiresAtMs'>): string;
  /** A `Set-Cookie` header that removes it. */
  clear(): string;
  /** The flow in a `Cookie` header, if it is signed and not over. */
  read(header: string | undefined): Flow | undefined;
}

export const OIDC_PATH = '/admin/v1/session/oidc';
const NAME = 'gateway_oidc';
const VALUE = /(?:^|;\s*)gateway_oidc=([\w-]{1,4000})\.([\w-]{43})(?:;|$)/;
/** For a person who types a password and a second factor. */
const MAX_AGE_SECONDS = 600;

interface FlowCookieOptions {
  readonly gatewaySecret: string;
  /** The path below which browsers see this service. */
  readonly basePath: string;
  readonly now: () => number;
  /** Whether browsers reach this service over TLS. */
  readonly isSecure: boolean;
}

/** The provider sends the browser back from another site: only a cookie with SameSite=Lax comes with that. */
export function createFlowCookies({
  gatewaySecret,
  basePath,
  now,
  isSecure,
}: FlowCookieOptions): FlowCookies {
  const key = Buffer.from(hkdfSync('sha256', gatewaySecret, '', 'gateway console oidc flow v1', 32));
  const signatureOf = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');
  const attributes = (maxAgeSeconds: number): string =>
    `Path=${basePath}${OIDC_PATH}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    create: (flow) => {
      const full: Flow = { ...flow, expiresAtMs: now() + MAX_AGE_SECONDS * 1000 };
      const text = Buffer.from(JSON.stringify(full)).toString('base64url');
      return `${NAME}=${text}.${signatureOf(text)}; ${attributes(MAX_AGE_SECONDS)}`;
    },
    clear: () => `${NAME}=; ${attributes(0)}`,
    read: (header) => {
      const [, text = '', signature = ''] = VALUE.exec(header ?? '') ?? [];
      if (text === '') return undefined;
      if (!timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(text)))) return undefined;
      const flow = Flow.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
      return flow.expiresAtMs > now() ? flow : undefined;
    },
  };
}
