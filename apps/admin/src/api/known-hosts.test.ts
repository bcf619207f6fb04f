import { expect, test } from 'vitest';
import { createHostCheck } from './known-hosts.ts';

const check = createHostCheck(['console.example.com', '*.internal.example.com']);

test.for([
  '127.0.0.1:8090',
  '[::1]:8090',
  '10.0.0.5',
  'localhost:8090',
  'admin',
  'gateway-admin:8090',
  'gateway-admin.ai.svc.cluster.local',
  'Console.Example.com:443',
  'console.example.com.',
  'a.internal.example.com',
  undefined,
])('%s is a name of the admin service', (host) => {
  expect(() => check(host)).not.toThrow();
});

test.for([
  'evil.example',
  'console.example.com.evil.example',
  'evilconsole.example.com',
  'internal.example.com',
  '127.0.0.1.evil.example',
  'evil.local',
  '127.0.0.1:80@evil.example',
])('%s is none', (host) => {
  expect(() => check(host)).toThrow(/CONSOLE_URL/);
  expect(() => createHostCheck(['*'])(host)).not.toThrow();
});
