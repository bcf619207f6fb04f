import { Anchor } from '@mantine/core';
import { IconMapOff } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { EmptyState } from './empty-state.tsx';

export function PageMissing() {
  return (
    <EmptyState icon={IconMapOff} title="There is no such page">
      The address may be old or mistyped, or the page is not for your role.{' '}
      <Anchor component={Link} to="/" inherit>
        Go to the first page
      </Anchor>
    </EmptyState>
  );
}
