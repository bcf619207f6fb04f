import type { AuthEntry } from '../auth-entry.ts';
import type { ChannelEntry } from '../file-schema.ts';
import type { Preset } from '../presets/preset.ts';
import type { Complaint } from './mistake-list.ts';

interface Checked {
  readonly path: readonly string[];
  readonly auth: AuthEntry;
}

/** What a schema cannot say of one source of credentials: which members belong together. */
export function checkAuth(
  { path, auth }: Checked,
  preset: Preset,
  { provider, region }: Pick<ChannelEntry, 'provider' | 'region'>,
): Complaint[] {
  const types = preset.auth?.types;
  if (types !== undefined && auth.type !== 'oauth' && !types.includes(auth.type)) {
    const expected = `${types.join(' or ')}, whose credentials a channel of ${provider} takes, or oauth`;
    return [{ path: [...path, 'type'], expected }];
  }
  const missing = (member: string, expected: string): Complaint => ({ path: [...path, member], expected });
  const unused = (member: string, expected: string): Complaint => ({
    path: [...path, member],
    at: 'key',
    expected,
  });
  switch (auth.type) {
    case 'aws':
      return checkAws({ ...auth, region: auth.region ?? region }, preset, { missing, unused });
    case 'entra':
      return checkEntra(auth, preset, { missing, unused });
    case 'oauth':
      if (auth.parameters !== undefined) return [];
      return [
        ...(auth.clientId === undefined ? [missing('clientId', "the client's id")] : []),
        ...checkSecret(auth, missing),
      ];
    case 'google':
      return [];
  }
}

interface Complaints {
  readonly missing: (member: string, expected: string) => Complaint;
  readonly unused: (member: string, expected: string) => Complaint;
}

function checkSecret(
  auth: { clientSecret?: string | undefined; clientSecretFile?: string | undefined },
  missing: Complaints['missing'],
): Complaint[] {
  const isOne = (auth.clientSecret === undefined) !== (auth.clientSecretFile === undefined);
  return isOne ? [] : [missing('clientSecret', 'either clientSecret or clientSecretFile')];
}

function checkAws(
  auth: Extract<AuthEntry, { type: 'aws' }>,
  preset: Preset,
  { missing, unused }: Complaints,
): Complaint[] {
  const { region, service, profile, accessKeyId, secretAccessKey, sessionToken, roleArn } = auth;
  const complaints: Complaint[] = [];
  if (region === undefined) complaints.push(missing('region', 'the region that requests are signed for'));
  if (service === undefined && preset.auth?.awsService === undefined)
    complaints.push(missing('service', 'the service that requests are signed for, such as bedrock'));
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    const member = accessKeyId === undefined ? 'accessKeyId' : 'secretAccessKey';
    complaints.push(missing(member, 'both accessKeyId and secretAccessKey, or neither'));
  }
  if (accessKeyId === undefined && sessionToken !== undefined)
    complaints.push(unused('sessionToken', 'it only beside accessKeyId and secretAccessKey'));
  if (accessKeyId !== undefined && profile !== undefined)
    complaints.push(unused('profile', 'either profile or accessKeyId'));
  for (const member of ['externalId', 'sessionName', 'webIdentityTokenFile', 'stsRegion'] as const)
    if (roleArn === undefined && auth[member] !== undefined)
      complaints.push(unused(member, 'it only beside roleArn'));
  return complaints;
}

/** The ways to prove who the application is, of which exactly one is configured. */
const ENTRA_WAYS = [
  'clientSecret',
  'clientSecretFile',
  'certificateFile',
  'federatedTokenFile',
  'managedIdentity',
] as const;

function checkEntra(
  auth: Extract<AuthEntry, { type: 'entra' }>,
  preset: Preset,
  { missing, unused }: Complaints,
): Complaint[] {
  const complaints: Complaint[] = [];
  const ways = ENTRA_WAYS.filter((way) => auth[way] !== undefined);
  if (ways.length === 0) complaints.push(missing('clientSecret', `one of ${ENTRA_WAYS.join(', ')}`));
  for (const way of ways.slice(1)) complaints.push(unused(way, `only one of ${ENTRA_WAYS.join(', ')}`));
  if (auth.managedIdentity === undefined) {
    if (auth.tenantId === undefined) complaints.push(missing('tenantId', 'the id of the directory (tenant)'));
    if (auth.clientId === undefined)
      complaints.push(missing('clientId', 'the id of the application (client)'));
  }
  if (auth.scope === undefined && preset.auth?.entraScope === undefined)
    complaints.push(missing('scope', 'the scope of the tokens, such as https://ai.azure.com/.default'));
  return complaints;
}
