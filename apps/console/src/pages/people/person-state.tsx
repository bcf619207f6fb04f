import { Badge } from '@mantine/core';
import type { Person } from '../../api/types.ts';

const COLORS: Readonly<Record<Person['state'], string>> = {
  invited: 'indigo',
  active: 'teal',
  disabled: 'orange',
};

export const PersonStateBadge = ({ of: { state } }: { of: Person }) => (
  <Badge variant="dot" color={COLORS[state]} size="sm">
    {state}
  </Badge>
);
