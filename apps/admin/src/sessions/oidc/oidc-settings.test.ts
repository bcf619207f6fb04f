import { parseConfig } from '@gateway/service-kit/config';
import { expect, test } from 'vitest';
import { AdminConfig } from '../../config.ts';
import { oidcSettings } from './oidc-settings.ts';

const SECRET = 'a secret of more than thirty-two characters';
const REQUIRED = {
  REDIS_URL: 'redis://127.0.0.1:1',
  GATEWAY_SECRET: SECRET,
  GATEWAY_ADMIN_TOKEN: SECRET,
};
const COMPLETE = {
  OIDC_ISSUER: 'https://login.example.com/realm',
  OIDC_CLIENT_ID: 'gateway',
  OIDC_CLIENT_SECRET: 'the secret of the client',
  CONSOLE_URL: 'https://gateway.example.com',
  OIDC_ADMIN_VALUES: 'admins, operators',
};

const read = (env: Record<string, string>) => oidcSettings(parseConfig(AdminConfig, { ...REQUIRED, ...env }));

test('without an identity provider there is none', () => {
  expect(read({})).toBeNull();
  expect(read({ CONSOLE_URL: 'https://gateway.example.com' })).toBeNull();
});

test('complete settings are taken, with lists of values', () => {
  expect(read(COMPLETE)).toMatchObject({
    name: 'OpenID Connect',
    isSecure: true,
    mapping: { roleClaim: 'groups', adminValues: ['admins', 'operators'], teams: null },
  });
  expect(read({ ...COMPLETE, OIDC_TEAM_PREFIX: 'lead-' })?.mapping.teams).toEqual({
    claim: 'groups',
    prefix: 'lead-',
  });
});

test.for<[string, Record<string, string>, RegExp]>([
  ['without a client', { OIDC_CLIENT_ID: '' }, /needs OIDC_CLIENT_ID/],
  ['without the address to come back to', { CONSOLE_URL: '' }, /CONSOLE_URL/],
  ['without an issuer', { OIDC_ISSUER: '' }, /OIDC_CLIENT_ID is set, and OIDC_ISSUER is not/],
  ['with an issuer whose answers anybody can change', { OIDC_ISSUER: 'http://login.example.com' }, /https/],
  ['with an issuer that is no URL', { OIDC_ISSUER: 'login.example.com' }, /OIDC_ISSUER: must be an http/],
])('settings %s are refused by name, and no secret is quoted', ([, wrong, message]) => {
  expect(() => read({ ...COMPLETE, ...wrong })).toThrow(message);
  expect(() => read({ ...COMPLETE, ...wrong })).not.toThrow(/the secret of the client/);
});

test('an issuer on this machine may do without TLS', () => {
  expect(read({ ...COMPLETE, OIDC_ISSUER: 'http://127.0.0.1:9000' })?.issuer.port).toBe('9000');
});
