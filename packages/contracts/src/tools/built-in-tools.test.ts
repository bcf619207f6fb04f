import { expect, test } from 'vitest';
import { builtInToolOf, offersTool } from './built-in-tools.ts';

test.for([
  ['web_search', 'web_search_preview'],
  ['web_search_preview', 'web_search'],
  ['web_search_preview', 'web_search_preview_2025_03_11'],
  ['web_search', 'web_search_2025_08_26'],
  ['web_search_20250305', 'web_search_20260318'],
  ['file_search', 'file_search'],
])('a route that lists %s offers %s', ([listed, type]) => {
  const family = builtInToolOf('responses', type ?? '');
  expect(family === null || offersTool([listed ?? ''], family)).toBe(true);
  expect(family).not.toBeNull();
});

test('a route offers no built-in tool that it does not list, and all of them when it lists `any`', () => {
  expect(offersTool(['web_search'], 'file_search')).toBe(false);
  expect(offersTool([], 'file_search')).toBe(false);
  expect(offersTool('any', 'file_search')).toBe(true);
});

test.for([
  ['responses', 'function'],
  ['responses', 'apply_patch'],
  ['messages', 'custom'],
  ['messages', 'bash_20250124'],
  ['messages', 'text_editor_20250728'],
  ['messages', 'computer_toolset_20260801'],
  ['messages', 'browser_toolset_20260801'],
] as const)('on %s the caller runs %s, so every route takes it', ([protocol, type]) => {
  expect(builtInToolOf(protocol, type)).toBeNull();
});
