import { CLOUD_PROVIDERS } from '@gateway/upstream/configuration/presets/cloud-providers';
import { MEDIA_PROVIDERS } from '@gateway/upstream/configuration/presets/media-providers';
import type { Preset } from '@gateway/upstream/configuration/presets/preset';
import { PRESETS } from '@gateway/upstream/configuration/presets/presets';
import { RETRIEVAL_PROVIDERS } from '@gateway/upstream/configuration/presets/retrieval-providers';
import { PROTOCOLS } from '@gateway/upstream/protocol';
import { z } from 'zod';
import { identityType, usualVariable } from '../setup/offers.ts';

const GROUPS = ['company', 'server', 'cloud', 'media', 'retrieval'] as const;
type ProviderGroup = (typeof GROUPS)[number];

/** A provider that a channel can lead to, and what its channel has to say. */
export const ShownProvider = z.strictObject({
  name: z.string(),
  /** `server`: one that a team runs itself. */
  group: z.enum(GROUPS),
  speaks: z.array(z.enum(PROTOCOLS)),
  /** Whether the channel has to say where it is. */
  needsBaseUrl: z.boolean(),
  /** Where it is if the channel does not say; null: it depends on the channel. */
  address: z.string().nullable(),
  /** `optional`: it can do without. */
  apiKey: z.enum(['required', 'optional']),
  /** Whose credentials of the machine serve in place of a key; null: nobody's. */
  identity: z.enum(['aws', 'google', 'entra']).nullable(),
  /** Whether it lists its models; one that does not is tried with a model. */
  listsModels: z.boolean(),
  /** The environment variable that its key is usually in. */
  variable: z.string(),
  /** Further settings without which it is not valid. */
  settings: z.array(z.string()),
});

/** Of a provider that is in none of these, its key tells. */
const TABLES: readonly (readonly [ProviderGroup, object])[] = [
  ['cloud', { ...CLOUD_PROVIDERS, 'azure-openai': PRESETS['azure-openai'] }],
  ['media', MEDIA_PROVIDERS],
  ['retrieval', RETRIEVAL_PROVIDERS],
];

export const shownProviders = (): z.infer<typeof ShownProvider>[] =>
  Object.entries<Preset>(PRESETS).map(([name, preset]) => shownProvider(name, preset));

function shownProvider(name: string, preset: Preset): z.infer<typeof ShownProvider> {
  const { speaks, baseUrl, key, settings = {} } = preset;
  return {
    name,
    group:
      TABLES.find(([, table]) => Object.hasOwn(table, name))?.[0] ?? (key.required ? 'company' : 'server'),
    speaks: [...speaks],
    needsBaseUrl: baseUrl === null,
    address: baseUrl === null || baseUrl.includes('{') ? null : baseUrl,
    apiKey: key.required ? 'required' : 'optional',
    identity: identityType(preset),
    listsModels: preset.modelList !== undefined,
    variable: usualVariable(name),
    settings: Object.entries(settings).flatMap(([setting, need]) => (need === 'optional' ? [] : [setting])),
  };
}
