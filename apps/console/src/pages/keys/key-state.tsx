import { Badge } from '@mantine/core';
import type { Key } from '../../api/types.ts';

export const KEY_STATES = ['active', 'disabled', 'expired', 'revoked'] as const;
export type KeyState = (typeof KEY_STATES)[number];

const COLORS: Readonly<Record<KeyState, string>> = {
  active: 'teal',
  disabled: 'orange',
  expired: 'gray',
  revoked: 'red',
};

export function keyState({ revokedAt, expiresAt, disabled }: Key): KeyState {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) return 'expired';
  return disabled ? 'disabled' : 'active';
}

export function KeyStateBadge({ of }: { of: Key }) {
  const state = keyState(of);
  return (
    <Badge variant="dot" color={COLORS[state]} size="sm">
      {state}
    </Badge>
  );
}
