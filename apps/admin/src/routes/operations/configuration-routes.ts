import type { KeyStore } from '@gateway/metering/keys/key-store';
import { ConfigurationEdit } from '@gateway/upstream/configuration/draft/configuration-edit';
import { z } from 'zod';
import { type AdminRoute, adminRoute, NO_BODY, NO_QUERY } from '../../api/admin-route.ts';
import { GatewayReply } from '../../api/schemas/operations.ts';
import { instant } from '../../api/schemas/page.ts';
import { CheckedText, type CheckText, shownCheck } from '../../configuration/check-text.ts';
import type { ReadState } from '../../configuration/configuration-state.ts';
import { type CompareCosts, DraftCosts } from '../../configuration/costs/draft-costs.ts';
import { type Draft, DraftedConfiguration } from '../../configuration/draft.ts';
import { DraftTry, type TryDraft } from '../../configuration/try-draft.ts';
import { chargedKey } from '../../playground/charged-key.ts';
import { VariableValues } from './variable-values.ts';

export const CheckedConfigurationReply = CheckedText;
export const ConfigurationReply = z.strictObject({
  source: z.enum(['file', 'environment', 'simulator', 'database']),
  /** Of the database. Null: it comes from elsewhere. */
  revision: z.int().nullable(),
  path: z.string(),
  /** As it is now, without secrets and comments; null without a file, or while it has mistakes. */
  text: z.string().nullable(),
  lastReload: z
    .strictObject({
      /** When the file was changed. */
      at: instant,
      /** False: the services go on with the configuration before. */
      held: z.boolean(),
    })
    .nullable(),
  ...CheckedText.shape,
});

const text = z.string().max(250_000);
const CheckBody = z.strictObject({ text });
const DraftBody = z.strictObject({
  /** Absent: the configuration in use. */
  text: text.optional(),
  /** What is changed in it, one after the other. */
  edits: z.array(ConfigurationEdit).max(100).optional(),
});

const TryBody = z.strictObject({
  text,
  /** Values of variables that the text names, for this request only. */
  secrets: VariableValues.optional(),
  /** A text model, as callers name it. */
  model: z.string().min(1).max(200),
  input: z.string().min(1).max(10_000),
  maxOutputTokens: z.int().min(1).max(4000).default(1000),
  /** The key that is charged; absent: the only one. */
  keyId: z.string().max(100).optional(),
});

interface ConfigurationRoutesOptions {
  readonly readState: ReadState;
  readonly checkText: CheckText;
  readonly draft: Draft;
  readonly compareCosts: CompareCosts;
  readonly tryDraft: TryDraft;
  readonly keys: Pick<KeyStore, 'getKey' | 'listKeys'>;
  readonly now: () => number;
}

/** The configuration as the services follow it, and a check of another one. */
export const configurationRoutes = ({
  readState,
  checkText,
  draft,
  compareCosts,
  tryDraft,
  keys,
  now,
}: ConfigurationRoutesOptions): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/configuration',
    summary: 'The configuration file without its secrets, and whether its last change took effect',
    query: NO_QUERY,
    body: NO_BODY,
    reply: ConfigurationReply,
    handle: async () => {
      const { source, revision, path, text, changedAtMs, ...found } = await readState();
      const lastReload =
        changedAtMs === null
          ? null
          : { at: new Date(changedAtMs).toISOString(), held: found.configuration !== null };
      return { source, revision, path, text, lastReload, ...shownCheck(found) };
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/configuration/check',
    summary: 'Check a configuration as the services would, with the line of each mistake; nothing is applied',
    query: NO_QUERY,
    body: CheckBody,
    takesLines: true,
    reply: CheckedConfigurationReply,
    handle: async ({ body }) => checkText(body.text),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/configuration/draft',
    summary:
      'Edit a copy of the configuration: its text, its mistakes, and what differs from the one in use; nothing is applied',
    query: NO_QUERY,
    body: DraftBody,
    takesLines: true,
    reply: DraftedConfiguration,
    handle: async ({ body }) => draft(body),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/configuration/draft/costs',
    summary:
      'What the requests of the last week would have cost under a draft: by model, team and route, and the largest differences as sentences',
    query: NO_QUERY,
    body: DraftBody,
    takesLines: true,
    reply: DraftCosts,
    handle: async ({ body }) => compareCosts(body),
  }),
  adminRoute({
    method: 'POST',
    path: '/admin/v1/configuration/draft/try',
    summary:
      'Send one text request by a draft, charged to a key: what answered, and what was tried; nothing is applied',
    query: NO_QUERY,
    body: TryBody,
    takesLines: true,
    reply: DraftTry,
    handle: async ({ body: { keyId, ...tried }, by }) =>
      tryDraft({ ...tried, keyId: await chargedKey(keyId, { keys, now }) }, by),
  }),
];

interface GatewayRoutesOptions {
  readonly publicUrl: string;
  readonly timeZone: string;
}

/** What clients need to know of this gateway. */
export const gatewayRoutes = (facts: GatewayRoutesOptions): AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: '/admin/v1/gateway',
    summary: 'Where callers reach the gateway, and the time zone of its budgets',
    query: NO_QUERY,
    body: NO_BODY,
    reply: GatewayReply,
    handle: async () => facts,
  }),
];
