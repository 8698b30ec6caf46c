// AllReduce lookup: [tp][fusion][hidden][tokens] = strategy
// TP:[2, 4, 8] Fusion:['NONE', 'RESIDUAL_RMS_NORM', 'RESIDUAL_RMS_NORM_QUANT_FP8', 'RESIDUAL_RMS_NORM_QUANT_NVFP4']
inline AllReduceBestStrategyTableType AllReduceBestStrategyTableSM90 = {
    {
        // TP=2
        { // Fusion=NONE
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048 (not measured)
            {4,4,4,4,4,4,4,4,4,4,4,4,4,4,4}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192 (not measured)
        },
        { // Fusion=RESIDUAL_RMS_NORM
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048 (not measured)
            {4,4,4,4,4,4,4,4,4,4,4,4,4,4,4}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192 (not measured)
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_FP8
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048 (not measured)
            {4,4,4,4,4,4,4,4,4,4,4,4,4,4,4}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192 (not measured)
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_NVFP4
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048 (not measured)
            {4,4,4,4,4,4,4,4,4,4,4,4,4,4,4}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192 (not measured)
        }
    },
    {
        // TP=4
        { // Fusion=NONE
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048 (not measured)
            {4,4,4,4,4,4,4,4,5,5,5,5,5,5,5}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192 (not measured)
        },
        { // Fusion=RESIDUAL_RMS_NORM
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048 (not measured)
            {4,4,4,4,4,4,4,4,5,5,5,5,5,5,5}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192 (not measured)
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_FP8
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048 (not measured)
            {4,4,4,4,4,4,4,4,5,5,5,5,5,5,5}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192 (not measured)
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_NVFP4
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024 (not measured)
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048 (not measured)
            {4,4,4,4,4,4,4,4,5,5,5,5,5,5,5}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192 (not measured)
        }
    },
    {
        // TP=8
        // not measured: filled with NCCL (0)
        { // Fusion=NONE
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192
        },
        { // Fusion=RESIDUAL_RMS_NORM
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_FP8
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192
        },
        { // Fusion=RESIDUAL_RMS_NORM_QUANT_NVFP4
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=128
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=256
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=512
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=1024
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=2048
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, // hidden_size=4096
            {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} // hidden_size=8192
        }
    }
};
