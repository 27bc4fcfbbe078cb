"""The constants of EFA: programs and tests read them when they are imported."""

EFADV_DEVICE_ATTR_CAPS_RDMA_READ = 1
EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID = 4
EFADV_QP_DRIVER_TYPE_SRD = 0
EFADV_WC_EX_WITH_SGID = 1
