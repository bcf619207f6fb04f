import type { MessagesBlock } from '@gateway/contracts/anthropic/messages-wire';
import type { z } from 'zod';

type BrowserState = z.infer<typeof MessagesBlock.browser_state>;

/** What a browser shows after a call, in words: models other than Claude know no block for it. */
export function browserStateText({ tabs, state_changes: changes }: BrowserState): string {
  const shown = tabs.map(({ tab_id: id, title, url, active }) =>
    [`- ${id}`, title, url, active && '(active)'].filter(Boolean).join(' '),
  );
  const open = shown.length === 0 ? ['No tabs are open.'] : ['Open tabs:', ...shown];
  const happened = (changes ?? []).map(({ type, ...members }) => `- ${type} ${JSON.stringify(members)}`);
  return [...open, ...(happened.length === 0 ? [] : ['Changes:', ...happened])].join('\n');
}
