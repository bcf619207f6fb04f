import { expect, test } from 'vitest';
import { adaptMembers } from './adapt-members.ts';
import { rulesFor } from './rules-for.ts';

const family = (name: string) => rulesFor({ name, family: null });

test.for(['constructor', 'toString', '__proto__'])(
  'a member or a quality called %s is unknown to both families',
  (word) => {
    const members = [
      [word, 'high'],
      ['quality', word],
    ] as const;
    const text = (value: string) => value;
    const adapted = adaptMembers(members, family('gpt-image-1'), family('dall-e-3'), text, text);
    expect(adapted).toEqual({ members: [[word, 'high']], dropped: ['quality'] });
  },
);
