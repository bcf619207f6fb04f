import { GatewayError } from '@gateway/contracts/gateway-error';
import { type KeyRecord, shownKey } from '@gateway/metering/keys/key-record';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { KeySettings } from '@gateway/metering/keys/settings';
import { readJsonBody } from '@gateway/service-kit/json-body';
import { validate } from '@gateway/service-kit/validate';
import { z } from 'zod';
import type { AdminRoute } from './admin-route.ts';

const MAX_BODY_BYTES = 256 * 1024;

const ListQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  /** `next` of the page before. */
  cursor: z.string().startsWith('key_').max(100).optional(),
});

/** Make, list, read and revoke callers' keys. */
export function keyRoutes({ keys, now }: { keys: KeyStore; now: () => number }): AdminRoute[] {
  return [
    {
      method: 'POST',
      path: '/admin/v1/keys',
      handle: async (request) => {
        const { value } = await readJsonBody(request, { maxBytes: MAX_BODY_BYTES });
        const key = validate(KeySettings, value);
        checkExpiry(key, now());
        const { record, secret } = await keys.createKey(key);
        return { status: 201, body: { ...shownKey(record), key: secret } };
      },
    },
    {
      method: 'GET',
      path: '/admin/v1/keys',
      handle: async (request) => {
        const { limit, cursor } = validate(ListQuery, request.query);
        const page = await keys.listKeys({ limit, after: cursor });
        return { status: 200, body: { data: page.keys.map(shownKey), next: page.next } };
      },
    },
    {
      method: 'GET',
      path: '/admin/v1/keys/{id}',
      handle: async (_request, { id = '' }) => ({
        status: 200,
        body: shownKey(found(await keys.getKey(id), id)),
      }),
    },
    {
      method: 'DELETE',
      path: '/admin/v1/keys/{id}',
      handle: async (_request, { id = '' }) => ({
        status: 200,
        body: shownKey(found(await keys.revokeKey(id), id)),
      }),
    },
  ];
}

function found(record: KeyRecord | undefined, id: string): KeyRecord {
  if (record !== undefined) return record;
  throw new GatewayError('object_not_found', `There is no key '${id}'.`);
}

function checkExpiry({ expiresAt }: KeySettings, nowMs: number): void {
  if (expiresAt === undefined || Date.parse(expiresAt) > nowMs) return;
  throw new GatewayError('invalid_value', {
    message: "Invalid value for 'expiresAt': it lies in the past.",
    path: ['expiresAt'],
  });
}
