import type { Stack } from '@gateway/stack/start-stack';

export interface MadeKey {
  readonly id: string;
  /** The secret. */
  readonly key: string;
}

/** Makes a key over the admin service, as `POST /admin/v1/keys` takes it. */
export async function createKey(stack: Stack, body: Record<string, unknown>): Promise<MadeKey> {
  const response = await askAdmin(stack, 'POST', '/admin/v1/keys', body);
  return JSON.parse(await response.text());
}

export async function revokeKey(stack: Stack, id: string): Promise<void> {
  await askAdmin(stack, 'DELETE', `/admin/v1/keys/${id}`);
}

/** A request to the admin service; throws where it is refused. */
export async function askAdmin(
  stack: Stack,
  method: string,
  path: string,
  body?: unknown,
): Promise<Response> {
  const response = await fetch(`${stack.adminUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}
