import { expect, test } from 'vitest';
import { credentialAdvice } from './credential-advice.ts';

test.for([
  ['invalid_client: AADSTS7000215: Invalid client secret provided.', /secret's value/],
  ["AADSTS7000222: The provided client secret keys for app 'x' are expired.", /make a new one/],
  [
    "AADSTS700016: Application with identifier 'x' was not found in the directory 'y'.",
    /clientId and auth\.tenantId/,
  ],
  ["AADSTS90002: Tenant 'x' not found.", /^check auth\.tenantId$/],
  [
    'AADSTS700027: The certificate with identifier used to sign the client assertion is not registered on application.',
    /upload the certificate/,
  ],
  ['AADSTS700024: Client assertion is not within its valid time range.', /clock/],
  [
    'AADSTS700213: No matching federated identity record found for presented assertion subject',
    /federated credential/,
  ],
  ['AADSTS70021: No matching federated identity record found', /federated credential/],
  ['AADSTS500011: The resource principal named https://x was not found in the tenant', /auth\.scope/],
  ['User: arn:aws:sts::1:assumed-role/pod is not authorized to perform: sts:AssumeRole', /trust policy/],
  ['No OpenIDConnect provider found in your account for https://oidc.example', /identity provider in IAM/],
  ['Signature expired: 20261126T120000Z is now earlier than 20261126T121500Z', /clock/],
  [
    'Could not resolve credentials using profile: [prod] in configuration/credentials file(s).',
    /auth\.profile/,
  ],
  ['Could not load credentials from any providers', /attach a role/],
  ["Permission 'iam.serviceAccounts.getAccessToken' denied on resource", /serviceAccountTokenCreator/],
  [
    'invalid_grant: Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.',
    /clock/,
  ],
  ['invalid_grant: Invalid JWT Signature.', /was deleted/],
  ['Could not load the default credentials. Browse to …', /attach a service account/],
  ["ENOENT: no such file or directory, open '/run/secrets/token'", /mounted/],
  ['no answer within 10000 ms', /reaches/],
  ['connect ECONNREFUSED 127.0.0.1:1', /reaches/],
  ['unable to verify the first certificate', /caFile/],
] as const)('%s: the operator is told what to do', ([reason, advice]) => {
  expect(credentialAdvice(reason)).toMatch(advice);
});

test('what says enough by itself gets no advice', () => {
  expect(credentialAdvice('id.example answered 401 without a token (invalid_client)')).toBe('');
});
