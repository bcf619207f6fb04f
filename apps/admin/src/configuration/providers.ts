import type { Preset } from '@gateway/upstream/configuration/presets/preset';
import { PRESETS } from '@gateway/upstream/configuration/presets/presets';
import { PROTOCOLS } from '@gateway/upstream/protocol';
import { z } from 'zod';

/** A provider that a channel can lead to, and what its channel has to say. */
export const ShownProvider = z.strictObject({
  name: z.string(),
  speaks: z.array(z.enum(PROTOCOLS)),
  /** Whether the channel has to say where it is. */
  needsBaseUrl: z.boolean(),
  /** `optional`: it can do without. */
  apiKey: z.enum(['required', 'optional']),
  /** Further settings without which it is not valid. */
  settings: z.array(z.string()),
});

export const shownProviders = (): z.infer<typeof ShownProvider>[] =>
  Object.entries<Preset>(PRESETS).map(([name, { speaks, baseUrl, key, settings = {} }]) => ({
    name,
    speaks: [...speaks],
    needsBaseUrl: baseUrl === null,
    apiKey: key.required ? 'required' : 'optional',
    settings: Object.entries(settings).flatMap(([setting, need]) => (need === 'optional' ? [] : [setting])),
  }));
