import { GatewayError } from '@gateway/contracts/gateway-error';
import { KeyLimits } from '@gateway/contracts/identity';
import {
  accountOfKey,
  KEY_ID,
  type KeyRecord,
  type ShownKey,
  shownKey,
} from '@gateway/metering/keys/key-record';
import type { KeyStore } from '@gateway/metering/keys/key-store';
import { KeySettings } from '@gateway/metering/keys/settings';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { mergePatch, nullableLimits, removable } from '../../api/merge-patch.ts';
import {
  BalanceReply,
  ChangedKeyReply,
  KeyBalanceList,
  KeyPage,
  KeyReply,
  NewKeyReply,
  RotatedKeyReply,
  WebhookSecretReply,
} from '../../api/schemas/access.ts';
import { pageQuery } from '../../api/schemas/page.ts';
import type { Warnings } from '../../configuration/warnings.ts';
import type { ReadShownBalances } from '../../keys/balances.ts';
import { checkCursor, findKeys, KEY_CURSOR, KeyFilter, KeySort, shownUse } from '../../keys/find-keys.ts';
import { checkLeadsChange, checkLeadsKey } from '../../keys/leads-key.ts';
import { checkExpiry, checkKeySettings, keySettingsOf } from '../../keys/settings.ts';
import type { Principal } from '../../sessions/authenticate.ts';
import type { Role } from '../../sessions/roles.ts';
import { seesKey } from '../../sessions/scope.ts';

const MAX_GRACE_SECONDS = 90 * 86_400;

const Rotation = z.strictObject({
  /** How long the old secret still works. */
  graceSeconds: z.int().min(0).max(MAX_GRACE_SECONDS).default(0),
});

const { name, limits: _limits, labels: _labels, ...others } = KeySettings.shape;
/** Every member may be left out, and all but the name may be null, which removes it. */
const KeyPatch = z.strictObject({
  ...removable(others),
  name: name.optional(),
  labels: z.record(z.string(), z.string().nullable()).nullish(),
  limits: nullableLimits(KeyLimits.shape).nullish(),
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
  const getKey = async (id: string, { scope }: Principal): Promise<KeyRecord> => {
    const record = await keys.getKey(id);
    return found(record !== undefined && seesKey(scope)(record) ? record : undefined, id);
  };

  return [
    adminRoute({
      method: 'POST',
      path: '/admin/v1/keys',
      summary: 'Create a key; only this response has its secret',
      query: NO_QUERY,
      body: z.unknown(),
      describedAs: KeySettings,
      status: 201,
      reply: NewKeyReply,
      handle: async ({ body, by, principal }) => {
        const settings = checkKeySettings(body);
        checkLeadsKey(settings, principal);
        checkExpiry(settings, now());
        const warned = await warnings.of(settings);
        const { record, secret } = await keys.createKey(settings, by);
        return { ...editableKey(record), key: secret, warnings: [...warned, ...webhookWarnings(record)] };
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/keys',
      summary: 'List keys, newest first or by what they were used for, including revoked ones',
      body: NO_BODY,
      query: pageQuery(KEY_CURSOR).extend({ ...KeyFilter.shape, ...KeySort.shape }),
      reply: KeyPage,
      handle: async ({ query: { limit, cursor, ...filter }, principal: { scope } }) => {
        checkCursor(cursor, filter);
        const page = await findKeys(keys, filter, { limit, after: cursor, nowMs: now(), scope });
        const data = page.keys.map((key) => ({ ...shownKey(key), ...shownUse(page.uses.get(key.id)) }));
        return { data, next: page.next };
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/key-balances',
      summary: "Read what remains of several keys' own limits and budgets; unknown ids are omitted",
      body: NO_BODY,
      query: BalancesQuery,
      reply: KeyBalanceList,
      handle: async ({ query: { ids }, principal }) => {
        const known = (await Promise.all(ids.map(keys.getKey))).filter((record) => record !== undefined);
        const records = known.filter(seesKey(principal.scope));
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
      handle: async ({ parameter: id, principal }) => {
        const record = await getKey(id, principal);
        return EDITORS.includes(principal.role) ? editableKey(record) : shownKey(record);
      },
    }),
    adminRoute({
      method: 'PATCH',
      path: '/admin/v1/keys/{id}',
      summary: 'Update a key; takes effect everywhere within a second',
      query: NO_QUERY,
      body: z.unknown(),
      describedAs: KeyPatch,
      reply: ChangedKeyReply,
      handle: async ({ parameter: id, body, by, principal }) => {
        let settings: KeySettings = { name: '' };
        const changed = await keys.updateKey(
          id,
          (record) => {
            const before = keySettingsOf(editableKey(record));
            settings = checkKeySettings(mergePatch(before, body));
            checkLeadsChange(record, settings, principal);
            if (settings.expiresAt !== record.expiresAt) checkExpiry(settings, now());
            return settings;
          },
          by,
          seesKey(principal.scope),
        );
        const record = found(changed, id);
        const warned = await warnings.of(settings);
        return { ...editableKey(record), warnings: [...warned, ...webhookWarnings(record)] };
      },
    }),
    adminRoute({
      method: 'DELETE',
      path: '/admin/v1/keys/{id}',
      summary: 'Revoke a key permanently; it is refused everywhere within a second and stays listed',
      query: NO_QUERY,
      body: NO_BODY,
      reply: KeyReply,
      handle: async ({ parameter: id, by, principal: { scope } }) =>
        shownKey(found(await keys.revokeKey(id, by, seesKey(scope)), id)),
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/keys/{id}/rotate',
      summary: 'Rotate the secret of a key; the old one works until the grace period ends',
      query: NO_QUERY,
      body: Rotation,
      reply: RotatedKeyReply,
      handle: async ({ parameter: id, body, by, principal: { scope } }) => {
        const rotated = await keys.rotateKey(id, body.graceSeconds, by, seesKey(scope));
        const { record, secret } = found(rotated, id);
        return { ...shownKey(record), key: secret };
      },
    }),
    adminRoute({
      method: 'POST',
      path: '/admin/v1/keys/{id}/webhook-secret',
      summary: "Rotate the secret that signs a key's webhooks; during the grace period both sign them",
      query: NO_QUERY,
      body: Rotation,
      reply: WebhookSecretReply,
      handle: async ({ parameter: id, body, by, principal: { scope } }) => {
        const rotated = await keys.rotateWebhookSecret(id, body.graceSeconds, by, seesKey(scope));
        const { record, secret } = found(rotated, id);
        return { ...shownKey(record), webhookSecret: secret };
      },
    }),
    adminRoute({
      method: 'GET',
      path: '/admin/v1/keys/{id}/balance',
      summary: "Read what remains of a key's own limits and budget",
      query: NO_QUERY,
      body: NO_BODY,
      reply: BalanceReply,
      handle: async ({ parameter: id, principal }) => {
        const [balance] = await readBalances([accountOfKey(await getKey(id, principal))]);
        return balance;
      },
    }),
  ];
}

/** Who may change keys sees what is to be changed whole. */
const EDITORS: readonly Role[] = ['admin', 'team-lead'];
const editableKey = (record: KeyRecord): ShownKey => ({ ...shownKey(record), webhookUrl: record.webhookUrl });

const webhookWarnings = ({ webhookUrl, webhookSecrets }: KeyRecord): string[] =>
  webhookUrl === null || webhookSecrets.length > 0
    ? []
    : ['The key has no webhook secret yet: nothing is sent to its webhookUrl until one is created.'];

function found<T>(value: T | undefined, id: string): T {
  if (value !== undefined) return value;
  throw new GatewayError('object_not_found', `There is no key '${id}'.`);
}
