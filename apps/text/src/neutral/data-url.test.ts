import { expect, test } from 'vitest';
import { readAddress } from './data-url.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUg';

test.for([
  ['https://example.org/a.png', { type: 'url', url: 'https://example.org/a.png' }],
  [`data:image/png;base64,${PNG}`, { type: 'base64', mediaType: 'image/png', data: PNG }],
  [`DATA:Image/PNG;name=a.png;BASE64,${PNG}`, { type: 'base64', mediaType: 'image/png', data: PNG }],
  ['data:image/jpg;base64,/9j/4A', { type: 'base64', mediaType: 'image/jpeg', data: '/9j/4A' }],
  [`data:;base64,${PNG}`, { type: 'base64', mediaType: 'image/png', data: PNG }],
  ['data:text/plain,Hello%20you', { type: 'base64', mediaType: 'text/plain', data: 'SGVsbG8geW91' }],
] as const)('%s is understood', ([address, source]) => {
  expect(readAddress(address)).toEqual(source);
});

test.for([PNG, 'file:///etc/passwd', 'data:image/png;base64', 'data:text/plain,%E0%A4%A', ''])(
  '%s is no address and no data URL',
  (address) => {
    expect(readAddress(address)).toBeNull();
  },
);
