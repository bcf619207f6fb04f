import { Group, Text } from '@mantine/core';
import icon from '../icon.svg';

export function Logo() {
  return (
    <Group gap="xs" wrap="nowrap">
      <img src={icon} alt="" width={28} height={28} />
      <Text fw={650} size="lg" lh={1}>
        Gateway
      </Text>
    </Group>
  );
}
