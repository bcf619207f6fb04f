import { GatewayError } from '@gateway/contracts/gateway-error';
import { KeyLimits } from '@gateway/contracts/identity';
import { KEY_ID } from '@gateway/metering/keys/key-id';
import { accountOfKey, type KeyRecord, shownKey } from '@gateway/metering/keys/key-record';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { KeySettings } from '@gateway/metering/keys/settings';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../admin-route.ts';
import type { ReadShownBalances } from '../balances.ts';
import { checkExpiry, checkKeySettings } from '../check-settings.ts';
import { findKeys, KeyFilter } from '../find-keys.ts';
import { mergePatch } from '../merge-patch.ts';
import { keySettingsOf } from '../settings-of.ts';
import type { Warnings } from '../warnings.ts';
import {
  BalanceReply,
  ChangedKeyReply,
  KeyBalanceList,
  KeyPage,
  KeyReply,
  NewKeyReply,
  pageQuery,
  RotatedKeyReply,
  WebhookSecretReply,
} from './schemas.ts';

const MAX_GRACE_SECONDS = 90 * 86_400;

const Rotation = z.strictObject({
  /** How long the old secret still works. */
  graceSeconds: z.int().min(0).max(MAX_GRACE_SECONDS).default(0),
});

/** Every member may be left out, and all but the name may be null, which removes it. */
const nullable = (shape: Readonly<Record<string, z.ZodType>>) =>
  Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, member.nullish()]));
const { name: _name, limits: _limits, labels: _labels, ...removable } = KeySettings.shape;
const { models: _models, ...removableLimits } = KeyLimits.shape;
const KeyPatch = z.strictObject({
  ...nullable(removable),
  name: KeySettings.shape.name.optional(),
  labels: z.record(z.string(), z.string().nullable()).nullish(),
  limits: z
    .strictObject({
      ...nullable(removableLimits),
      models: z.record(z.string(), z.record(z.string(), z.int().nullable()).nullable()).nullish(),
    })
    .nullish(),
});

const MAX_IDS = 200;
const BalancesQuery = z.strictObject({
  /** Ids of keys, separated by commas. */
  ids: z
    .string()
    .transform((text) => [...new Set(text.split(','))])
    .pipe(z.array(z.string().regex(KEY_ID, 'it is not the id of a key')).max(MAX_IDS)),
});

interface KeyRoutesOptions {
  readonly keys: KeyStore;
  readonly warnings: Warnings;
  readonly readBalances: ReadShownBalances;
  readonly now: () => number;
}

/** Make, list, read, change, rotate and revoke callers' keys. */
export function keyRoutes({ keys, warnings, readBalances, now }: KeyRoutesOptions): AdminRoute[] {
  return [
    adminRoute({
      method: 'POST',
      path: '/admin/v1/keys',
      summary: 'Make a key; its secret is in this answer and nowhere else',
      query: NO_QUERY,
      body: z.unknown(),
      describedAs: KeySettings,
      status: 201,
      reply: NewKeyReply,
      handle: async ({ body, by }) => {
        const settings = checkKeySettings(body);
        checkExpiry(settings, now());
        const warned = await warnings.of(settings);
        const { record, secret } = await keys.createKey(settings, by);
        return { ...shownKey(record), key: secret, warnings: [...warned, ...webhookWarnings(record)] };
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/keys',
      summary: 'List keys, the newest first, revoked ones included',
      body: NO_BODY,
      query: pageQuery(KEY_ID).extend(KeyFilter.shape),
      reply: KeyPage,
      handle: async ({ query: { limit, cursor, ...filter } }) => {
        const page = await findKeys(keys, filter, { limit, after: cursor, nowMs: now() });
        return { data: page.keys.map(shownKey), next: page.next };
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/key-balances',
      summary: "Read what is left of several keys' own limits and budgets; unknown ids are left out",
      body: NO_BODY,
      query: BalancesQuery,
      reply: KeyBalanceList,
      handle: async ({ query: { ids } }) => {
        const records = (await Promise.all(ids.map(keys.getKey))).filter((record) => record !== undefined);
        const balances = await readBalances(records.map(accountOfKey));
        return { data: balances.map((balance, at) => ({ id: records[at]?.id, ...balance })), next: null };
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/keys/{id}',
      summary: 'Read a key',
      query: NO_QUERY,
      body: NO_BODY,
      reply: KeyReply,
      handle: async ({ parameter: id }) => shownKey(found(await keys.getKey(id), id)),
    }),
    adminRoute({
      method: 'PATCH',
      path: '/admin/v1/keys/{id}',
      summary: 'Change a key; known everywhere within a second',
      query: NO_QUERY,
      body: z.unknown(),
      describedAs: KeyPatch,
      reply: ChangedKeyReply,
      handle: async ({ parameter: id, body, by }) => {
        let settings: KeySettings = { name: '' };
        const changed = await keys.updateKey(
          id,
          (record) => {
            settings = checkKeySettings(mergePatch(keySettingsOf(shownKey(record)), body));
            if (settings.expiresAt !== record.expiresAt) checkExpiry(settings, now());
            return settings;
          },
          by,
        );
        const record = found(changed, id);
        const warned = await warnings.of(settings);
        return { ...shownKey(record), warnings: [...warned, ...webhookWarnings(record)] };
      },
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/keys/{id}',
      summary: 'Revoke a key for good; it is refused everywhere within a second and stays listed',
      query: NO_QUERY,
      body: NO_BODY,
      reply: KeyReply,
      handle: async ({ parameter: id, by }) => shownKey(found(await keys.revokeKey(id, by), id)),
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/keys/{id}/rotate',
      summary: 'Give a key another secret; the one before works until the grace is over',
      query: NO_QUERY,
      body: Rotation,
      reply: RotatedKeyReply,
      handle: async ({ parameter: id, body, by }) => {
        const { record, secret } = found(await keys.rotateKey(id, body.graceSeconds, by), id);
        return { ...shownKey(record), key: secret };
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/keys/{id}/webhook-secret',
      summary:
        'Give a key another secret to sign its webhooks with; during the grace they are signed with both',
      query: NO_QUERY,
      body: Rotation,
      reply: WebhookSecretReply,
      handle: async ({ parameter: id, body, by }) => {
        const { record, secret } = found(await keys.rotateWebhookSecret(id, body.graceSeconds, by), id);
        return { ...shownKey(record), webhookSecret: secret };
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/keys/{id}/balance',
      summary: "Read what is left of a key's own limits and budget",
      query: NO_QUERY,
      body: NO_BODY,
      reply: BalanceReply,
      handle: async ({ parameter: id }) => {
        const [balance] = await readBalances([accountOfKey(found(await keys.getKey(id), id))]);
        return balance;
      },
    }),
  ];
}

const webhookWarnings = ({ webhookUrl, webhookSecrets }: KeyRecord): string[] =>
  webhookUrl === null || webhookSecrets.length > 0
    ? []
    : ['The key has no webhook secret yet: nothing is sent to its webhookUrl until one is made.'];

function found<T>(value: T | undefined, id: string): T {
  if (value !== undefined) return value;
  throw new GatewayError('object_not_found', `There is no key '${id}'.`);
}
