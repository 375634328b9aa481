# SPDX-License-Identifier: GPL-2.0-or-later
# Devices of the QEMU that runs Lyra's guest: a q35 board, what the guest boots from and talks through, and the GPU.
CONFIG_Q35=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_SERIAL=y
CONFIG_VIRTIO_RNG=y
CONFIG_VIRTIO_9P=y
CONFIG_PCIE_PORT=y
CONFIG_ISA_DEBUG=y
CONFIG_LYRA=y
CONFIG_PVPANIC_PCI=y
CONFIG_ACPI_VMGENID=y
