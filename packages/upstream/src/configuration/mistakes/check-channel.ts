import type { Environment } from '@gateway/contracts/environment';
import { OPERATIONS, PROTOCOLS, type Protocol } from '../../protocol.ts';
import { type ChannelEntry, SafeName } from '../file-schema.ts';
import type { Preset } from '../presets/preset.ts';
import { presetFor } from '../presets/presets.ts';
import { checkAuth } from './check-auth.ts';
import { checkSettings } from './check-settings.ts';
import type { Complaint } from './mistake-list.ts';
import { beginsAsKey } from './shown-name.ts';
import { listed } from './suggest.ts';

/** The protocols that a preset has paths for. */
export const possibleProtocols = ({ paths, rootPaths }: Preset): readonly Protocol[] => {
  const all = { ...paths, ...rootPaths };
  return PROTOCOLS.filter((protocol) =>
    Object.entries(OPERATIONS).some(([operation, of]) => of === protocol && operation in all),
  );
};

const checkBaseUrl = (text: string, preset: Preset): string | null => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return 'a URL that begins with http:// or https://';
  if (url.username !== '' || url.password !== '')
    return 'a URL without user and password: use apiKey or headers';
  if (url.search !== '' || url.hash !== '') return 'a URL that ends with its path, without ? or #';
  const { pathsBeginWith: begin, otherForm } = preset;
  const path = url.pathname.replace(/\/+$/, '');
  if (otherForm && path.endsWith(otherForm.ending)) return otherForm.expected;
  if (begin !== undefined && path.endsWith(begin)) {
    return `the URL without its last ${begin}, which this provider's paths begin with`;
  }
  return null;
};

/** The preset's own variable for its address. */
const checkVariable = (preset: Preset, env: Environment): Complaint | null => {
  const variable = preset.baseUrlVariable;
  const text = variable === undefined ? undefined : env[variable];
  const expected = text ? checkBaseUrl(text, preset) : null;
  // The value may hold a password.
  return expected === null ? null : { path: ['baseUrl'], found: `another value in ${variable}`, expected };
};

const NAME_EXPECTED =
  'a name of up to 64 letters, digits, ".", "_" and "-" that begins with a letter or digit, and no key';

const checkName = (name: string, path: Complaint['path']): Complaint[] =>
  SafeName.test(name) && !beginsAsKey(name) ? [] : [{ path, at: 'key', expected: NAME_EXPECTED }];

const checkKeys = (entry: ChannelEntry, preset: Preset): Complaint[] => {
  const { apiKey, apiKeys, auth, headers, provider } = entry;
  const { header, required } = preset.key;
  const hasHeader = (name: string) => Object.keys(headers ?? {}).some((one) => one.toLowerCase() === name);
  const hasOwnKey = hasHeader(header);
  const auths = Object.entries(apiKeys ?? {}).flatMap(([name, account]) =>
    typeof account === 'object' && account.auth !== undefined
      ? [{ path: ['apiKeys', name, 'auth'], auth: account.auth }]
      : [],
  );
  if (auth !== undefined) auths.push({ path: ['auth'], auth });
  const ofAuths = auths.flatMap((one) => checkAuth(one, preset, entry));
  if (auths.length > 0 && (hasHeader('authorization') || hasOwnKey)) {
    const expected = 'no header that carries credentials beside auth';
    ofAuths.push({ path: ['headers'], expected });
  }
  if (apiKeys === undefined) {
    if (auth !== undefined && apiKey !== undefined)
      ofAuths.push({ path: ['apiKey'], expected: 'either apiKey or auth' });
    const isMissing = required && apiKey === undefined && auth === undefined && !hasOwnKey;
    return isMissing
      ? [{ path: ['apiKey'], expected: `the provider's key, such as \${MY_PROVIDER_KEY}` }]
      : ofAuths;
  }
  const names = Object.keys(apiKeys);
  const complaints = [...ofAuths, ...names.flatMap((name) => checkName(name, ['apiKeys', name]))];
  for (const [name, account] of Object.entries(apiKeys)) {
    if (typeof account === 'string' || (account.apiKey === undefined) !== (account.auth === undefined))
      continue;
    complaints.push({
      path: ['apiKeys', name],
      found: 'a mapping',
      expected: 'one with either apiKey or auth',
    });
  }
  if (names.length === 0) {
    complaints.push({
      path: ['apiKeys'],
      expected: "at least one of the provider's keys, by a name of yours",
    });
  }
  if (apiKey !== undefined) complaints.push({ path: ['apiKey'], expected: 'either apiKey or apiKeys' });
  if (auth !== undefined) complaints.push({ path: ['auth'], at: 'key', expected: 'either auth or apiKeys' });
  if (hasOwnKey && auths.length === 0) {
    const expected = `no header ${header}, which carries the keys of a channel of ${provider}`;
    complaints.push({ path: ['headers'], expected });
  }
  return complaints;
};

export const checkChannel = (name: string, entry: ChannelEntry, env: Environment): readonly Complaint[] => {
  const complaints = checkName(name, []);
  const preset = presetFor(entry);
  complaints.push(...checkSettings(entry, preset));
  if (entry.baseUrl === undefined) {
    if (preset.baseUrl === null) {
      const expected = "the provider's address, such as http://10.0.0.5:8000/v1";
      complaints.push({ path: ['baseUrl'], expected });
    }
    const complaint = checkVariable(preset, env);
    if (complaint !== null) complaints.push(complaint);
  } else {
    const expected = checkBaseUrl(entry.baseUrl, preset);
    if (expected !== null) complaints.push({ path: ['baseUrl'], expected });
  }
  complaints.push(...checkKeys(entry, preset));
  if (entry.batches !== undefined && preset.batchPaths === undefined) {
    const expected = `no batches, which a provider of the kind ${entry.provider} does not take here: the gateway does their lines itself`;
    complaints.push({ path: ['batches'], at: 'key', expected });
  }
  const possible = possibleProtocols(preset);
  for (const [index, protocol] of (entry.speaks ?? []).entries()) {
    if (possible.includes(protocol)) continue;
    const expected = `one of ${listed(possible)}, which is what a provider of the kind ${entry.provider} can speak`;
    complaints.push({ path: ['speaks', index], expected, known: PROTOCOLS });
  }
  return complaints;
};
