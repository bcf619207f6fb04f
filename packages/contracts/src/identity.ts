import { z } from 'zod';

/** The endpoint families that a key can be limited to. */
export const EndpointScope = z.enum(['responses', 'messages', 'chat', 'images', 'speech', 'transcriptions']);
export type EndpointScope = z.infer<typeof EndpointScope>;

/**
 * What the edge tells a service about the caller. Signed by the edge, valid for 60 s, sent as `x-gateway-identity`.
 * Limits and budget get their members here when they are enforced; a service ignores members it does not know.
 */
export const Identity = z.object({
  keyId: z.string().min(1),
  keyName: z.string(),
  team: z.string().nullable(),
  /** Model patterns (`gpt-*`) that the key may use; null means all. */
  models: z.array(z.string()).nullable(),
  /** Endpoint families that the key may call; null means all. */
  endpoints: z.array(EndpointScope).nullable(),
});
export type Identity = z.infer<typeof Identity>;

/** Headers between the edge and the services. The edge removes them from what a caller sends. */
export const INTERNAL_HEADERS = {
  identity: 'x-gateway-identity',
  requestId: 'x-request-id',
  /** `bearer` or `x-api-key`: how the key came. On Messages the header's protocol depends on it. */
  authScheme: 'x-gateway-auth-scheme',
} as const;
