import { Center, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { ComponentType, ReactNode } from 'react';

export interface EmptyStateProps {
  readonly icon: ComponentType<{ size?: number; 'aria-hidden'?: boolean }>;
  readonly title: string;
  /** What to do about it. */
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

/** Stands where nothing is to be shown, and says what to do. */
export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <Center py={56} px="md">
      <Stack align="center" gap="xs" maw={460}>
        <ThemeIcon variant="light" size={52} radius="xl" aria-hidden>
          <Icon size={26} aria-hidden />
        </ThemeIcon>
        <Title order={2} size="h4" ta="center">
          {title}
        </Title>
        <Text size="sm" c="dimmed" ta="center">
          {children}
        </Text>
        {action}
      </Stack>
    </Center>
  );
}
