import { OPERATIONS, PROTOCOLS, type Protocol } from '../protocol.ts';
import { type ChannelEntry, ChannelName } from './file-schema.ts';
import type { Complaint } from './mistake-list.ts';
import { type Preset, presetOf } from './presets.ts';
import { listed } from './suggest.ts';

/** The protocols that a preset has paths for. */
const possibleProtocols = (preset: Preset): readonly Protocol[] =>
  PROTOCOLS.filter((protocol) =>
    Object.entries(OPERATIONS).some(([operation, of]) => of === protocol && operation in preset.paths),
  );

const checkBaseUrl = (text: string, preset: Preset): string | null => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return 'a URL that begins with http:// or https://';
  if (url.username !== '' || url.password !== '')
    return 'a URL without user and password: use apiKey or headers';
  if (url.search !== '' || url.hash !== '') return 'a URL that ends with its path, without ? or #';
  const begin = preset.pathsBeginWith;
  if (begin !== undefined && url.pathname.replace(/\/+$/, '').endsWith(begin)) {
    return `the URL without its last ${begin}, which this provider's paths begin with`;
  }
  return null;
};

export const checkChannel = (name: string, entry: ChannelEntry): readonly Complaint[] => {
  const complaints: Complaint[] = [];
  const preset = presetOf(entry.provider);
  if (!ChannelName.test(name)) {
    const expected =
      'a name of up to 64 letters, digits, ".", "_" and "-" that begins with a letter or digit';
    complaints.push({ path: [], at: 'key', found: JSON.stringify(name), expected });
  }
  if (entry.baseUrl === undefined) {
    if (preset.baseUrl === null) {
      const example = preset.basePath ? 'https://NAME.openai.azure.com' : 'http://10.0.0.5:8000/v1';
      complaints.push({ path: ['baseUrl'], expected: `the provider's address, such as ${example}` });
    }
  } else {
    const expected = checkBaseUrl(entry.baseUrl, preset);
    if (expected !== null) complaints.push({ path: ['baseUrl'], expected });
  }
  const hasOwnKey = Object.keys(entry.headers ?? {}).some(
    (header) => header.toLowerCase() === preset.key.header,
  );
  if (preset.key.required && entry.apiKey === undefined && !hasOwnKey) {
    complaints.push({ path: ['apiKey'], expected: `the provider's key, such as \${MY_PROVIDER_KEY}` });
  }
  const possible = possibleProtocols(preset);
  for (const [index, protocol] of (entry.speaks ?? []).entries()) {
    if (possible.includes(protocol)) continue;
    const expected = `one of ${listed(possible)}, which is what a provider of the kind ${entry.provider} can speak`;
    complaints.push({ path: ['speaks', index], expected });
  }
  return complaints;
};
