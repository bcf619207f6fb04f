import { KINDS_OF_HOOK } from '../build/build-hooks.ts';
import { SafeName } from '../file-schema.ts';
import type { HookEntry, HookKind } from '../hooks-entry.ts';
import type { Complaint } from './mistake-list.ts';
import { beginsAsKey } from './shown-name.ts';
import { listed } from './suggest.ts';

/** Members that only one kind has. */
const OWN_MEMBERS = {
  params: 'generic',
  include: 'generic',
  model: 'moderation',
  region: 'bedrock',
  guardrail: 'bedrock',
  auth: 'bedrock',
} as const satisfies Partial<Record<keyof HookEntry, HookKind>>;

const NAME_EXPECTED =
  'a name of up to 64 letters, digits, ".", "_" and "-" that begins with a letter or digit, and no key';

/** What a hook's entry lacks or has too much of. */
export function checkHook(name: string, entry: HookEntry): Complaint[] {
  const complaints: Complaint[] = [];
  const { kind, apiKey, auth, baseUrl, guardrail, input = 'before', output = 'off' } = entry;
  if (!SafeName.test(name) || beginsAsKey(name))
    complaints.push({ path: [], at: 'key', expected: NAME_EXPECTED });
  for (const [member, own] of Object.entries(OWN_MEMBERS))
    if (own !== kind && Reflect.get(entry, member) !== undefined)
      complaints.push({
        path: [member],
        at: 'key',
        expected: `a setting of hooks of the kind ${kind}, and this is one of ${own}`,
      });
  const url = baseUrl === undefined ? KINDS_OF_HOOK[kind].baseUrl(entry) : baseUrl;
  const wrong = url === null ? null : urlExpected(url);
  if (url === null)
    complaints.push({
      path: ['baseUrl'],
      expected:
        kind === 'bedrock'
          ? 'the address of Bedrock, or a region'
          : "the address of the hook's server, such as http://10.0.0.5:8000",
    });
  else if (wrong !== null) complaints.push({ path: ['baseUrl'], expected: wrong });
  if (kind === 'bedrock') {
    if (guardrail === undefined)
      complaints.push({
        path: ['guardrail'],
        expected: 'a mapping with the id and the version of a guardrail',
      });
    if ((auth === undefined) === (apiKey === undefined))
      complaints.push({
        path: ['apiKey'],
        expected: "either apiKey, Bedrock's own, or auth with the type aws",
      });
    else if (auth !== undefined && auth.type !== 'aws')
      complaints.push({ path: ['auth', 'type'], expected: 'aws', place: 'closed', known: ['aws'] });
    else if (auth !== undefined && (auth.region ?? entry.region) === undefined)
      complaints.push({ path: ['region'], expected: 'the region that requests are signed for' });
  }
  if (input === 'off' && output === 'off')
    complaints.push({
      path: ['input'],
      expected: `a hook that checks something: input ${listed(['before', 'beside'])}, or an output`,
    });
  const { windowChars, overlapChars } = entry;
  if (windowChars !== undefined && overlapChars !== undefined && overlapChars >= windowChars)
    complaints.push({ path: ['overlapChars'], expected: 'less than windowChars', place: 'closed' });
  return complaints;
}

function urlExpected(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return 'a URL that begins with http:// or https://';
  if (url.username !== '' || url.password !== '')
    return 'a URL without user and password: use apiKey or headers';
  return url.search === '' && url.hash === '' ? null : 'a URL that ends with its path, without ? or #';
}
