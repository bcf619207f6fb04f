import { EXPECTED, SETTING_NAMES } from '../channel-settings.ts';
import type { ChannelEntry } from '../file-schema.ts';
import type { Preset } from '../presets/preset.ts';
import type { Complaint } from './mistake-list.ts';
import { listed } from './suggest.ts';

/** The settings that only some providers have: those that are missing, and those that mean nothing here. */
export function checkSettings(entry: ChannelEntry, preset: Preset): Complaint[] {
  const { provider, endpoint } = entry;
  const { settings = {} } = preset;
  const complaints: Complaint[] = [];
  const taken = SETTING_NAMES.filter((name) => settings[name] !== undefined);
  for (const name of SETTING_NAMES) {
    const need = settings[name];
    const isMissing = need === 'required' || (need === 'unless-base-url' && entry.baseUrl === undefined);
    if (isMissing && entry[name] === undefined) complaints.push({ path: [name], expected: EXPECTED[name] });
    if (need !== undefined || entry[name] === undefined) continue;
    const form = endpoint === undefined ? '' : ` with the endpoint ${endpoint}`;
    const expected = taken.length === 0 ? 'none' : listed(taken);
    complaints.push({
      path: [name],
      at: 'key',
      expected: `of such settings ${expected} for a channel of ${provider}${form}`,
    });
  }
  return complaints;
}
